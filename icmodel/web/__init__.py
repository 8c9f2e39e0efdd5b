"""Server of the workbench: pages in ``static``, and the HTTP API under ``/api/v1``.

Modules in the order of a request:

- ``place``: address, listening socket and token
- ``server``: application and process
- ``guard``: access checks and limits of requests
- ``bodies``: request bodies
- ``api``: routes of the API; ``docs_page`` describes them
- ``work``: models in memory, threads and worker processes
- ``jobs``: long computations in worker processes
- ``problems``: errors as documents

``pages`` has the routes that only the pages use. ``whatif`` makes their answers, ``curves`` the form and the curves of the
what-if page, and ``reports`` makes blocks of reports.
"""
