"""Fits of the `hybrid` variant: all rows of a metric come in, dense curves with 90 % intervals go out.

A metric's rows, of all options and counts together, are predicted by cost models (time per frame, byte and packet),
by Gaussian processes over the residuals of these, and by interpolation within each curve; a blend weights
the candidates by their leave-one-out errors nearby.
"""
