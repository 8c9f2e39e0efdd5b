"""Questions in words, and their answers, for the command line and the HTTP API.

``words`` holds the parameters of a question as texts with units. ``predicting`` and ``sweeping`` answer questions.
``showing`` makes documents about datasets, use cases and systems. ``ingesting`` has the options for results of other
tools. ``doors`` changes names of Python parameters in messages to options.
"""
