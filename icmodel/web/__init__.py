"""The workbench as a server: pages in ``static``, and the HTTP API under ``/api/v1``.

``place`` (address and token) and ``problems`` (errors as documents) -> ``guard`` (who may ask, and how much),
``work`` (models, threads and worker processes) and ``jobs`` (long computations) -> ``bodies`` (requests) -> ``api``
(routes) and ``docs_page`` -> ``server`` (application and process).

``pages`` has the routes that the pages need beyond the API: ``whatif`` (answers with texts), ``curves`` (several
questions along a parameter), and ``reports`` (the blocks of the reports, as JSON).
"""
