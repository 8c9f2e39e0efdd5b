"""Fits of the model variant `hybrid`: dense curves with 90 % intervals from measured rows.

A fit uses all rows of a metric, over all options and counts.  Its candidates (alternative
predictors) are of two types: Gaussian processes over the residuals of cost models, and
predictors from a single curve.  A cost model sums a time per frame, per byte and per packet.
A blend weights the candidates by their leave-one-out errors at nearby rows.
"""
