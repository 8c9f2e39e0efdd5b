"""Questions in words, and their answers, for the command line and the HTTP API.

``words`` holds the parameters of a question as texts with units. ``predicting`` and ``sweeping`` answer questions.
``showing`` makes documents about datasets, use cases and systems. ``ingesting`` has the options for results of other
tools. ``doors`` replaces Python parameters in error messages by command-line options.
"""
