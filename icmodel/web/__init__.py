"""Server of the workbench: pages in ``static``, and the HTTP API under ``/api/v1``.

Modules in the order of a request: ``place`` (address and token), ``server`` (application and process), ``guard``
(access checks and limits), ``bodies`` (request bodies), ``api`` (routes), ``work`` (models, threads and worker
processes), ``jobs`` (long computations), ``problems`` (errors as documents). ``docs_page`` describes the API.

The pages need further routes: ``pages``, with ``whatif`` (answers and curves) and ``reports`` (blocks of reports as
JSON).
"""
