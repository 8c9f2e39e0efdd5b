"""Questions in words, and their answers: what the command line and the HTTP API share.

``words`` (texts with units, as people write them) -> ``predicting``, ``sweeping`` and ``comparing`` (answers), and
``showing`` (documents about datasets, use cases and systems).  ``requiring`` parses requirements in words, ``curves``
draws a metric along a parameter, ``whatif`` has the questions of the page and their copies, and ``mistakes`` finds the place of a mistake.
"""
