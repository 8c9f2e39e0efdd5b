"""Server of the workbench: pages in ``static``, and the HTTP API under ``/api/v1``.

``place`` (address and token) and ``problems`` (errors as documents) -> ``guard`` (access checks and
limits of requests), ``work`` (models, threads and worker processes) and ``jobs`` (long
computations) -> ``bodies`` (request bodies) -> ``api`` (routes) and ``docs_page`` -> ``server``
(application and process).

``pages`` has the routes that the pages need beyond the API: ``whatif`` (answers with texts, and curves along a
parameter), and ``reports`` (the blocks of the reports, as JSON).
"""
