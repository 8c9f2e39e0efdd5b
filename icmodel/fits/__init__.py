"""Fits of the model variant `hybrid`: make dense curves with 90 % intervals from all measured rows of a metric.

A fit uses the rows of all options and counts together.  Its candidates are cost models (time per frame, byte and
packet), Gaussian processes over the residuals of the cost models, and interpolation within each curve.  A blend
weights the candidates by their leave-one-out errors nearby.
"""
