"""Questions in words, and their answers, for the command line and the HTTP API.

``words`` holds the parameters of a question as texts with units.  ``predicting`` and ``sweeping`` answer questions.
``showing`` makes documents about datasets, use cases and systems.  ``judging`` judges a use case, and ``ingesting`` labels
results of other tools.  For the what-if page, ``curves`` computes a metric along a parameter, and ``whatif`` parses
requirements, finds the field that an error names, and converts a question to a command, a program or a row.
"""
