"""The workbench as a server: pages in ``static``, and the HTTP API under ``/api/v1``.

``problems`` (errors as documents) -> ``guard`` (who may ask, and how much) and ``work`` (models, threads and worker
processes) -> ``bodies`` (requests) -> ``api`` (routes) -> ``server`` (application and process).

``pages`` has the routes that the pages need beyond the API: ``whatif`` (answers with texts), ``curves`` (ranges and
curves), and ``reports`` (blocks of the reports, as JSON).
"""
