"""Schemas of the output of each command with ``--json``, which are also the answers of the HTTP API.

Programs may rely on the required keys; within a ``schema_version`` keys are only added, so every object allows
further keys. The output of `icmodel plot --json` is Vega-Lite, which has a schema of its own. No command imports
this package: ``to_dict()`` writes the answers, and tests compare the answers with these models.

Order of imports: ``parts`` (shared by answers) -> ``datasets``, ``usecases``, ``systems`` -> ``commands``.
"""
