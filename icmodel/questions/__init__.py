"""Questions in words, and their answers, for the command line and the HTTP API.

``words`` holds the parameters of a question as texts with units.  ``predicting``, ``sweeping`` and ``comparing``
answer questions.  ``showing`` makes documents about datasets, use cases and systems.  ``judging`` judges a use case,
``requiring`` parses requirements in words, and ``ingesting`` labels results of other tools.  For the what-if page,
``curves`` computes a metric along a parameter, ``whatif`` converts a question to a command, a program or a row, and
``mistakes`` finds the field that an error names.
"""
