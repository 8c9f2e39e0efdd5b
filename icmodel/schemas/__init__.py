"""Schemas of the JSON answers of commands (``--json``) and of the HTTP API.

Programs may rely on the required keys. Within a ``schema_version``, keys are only added, so every object allows further
keys. The output of `icmodel plot --json` is Vega-Lite, with its own schema. No command imports this package:
``to_dict()`` writes the answers, and tests compare them with these models.

Order of imports: ``parts`` (shared by answers) -> ``datasets``, ``usecases``, ``systems`` -> ``commands``.
"""
