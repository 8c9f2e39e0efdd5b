"""Questions in words, and their answers, for the command line and the HTTP API.

``words`` holds the parameters of a question as texts with units. ``predicting`` and ``sweeping`` answer questions.
``showing`` makes documents about datasets, use cases and systems. ``judging`` judges a use case. ``ingesting`` has the
options for results of other tools. ``whatif`` and ``curves`` serve the what-if page.
"""
