"""The hybrid variant: mechanism first, data on top.

A metric's rows, of all options and counts together, are fitted by mechanisms (costs a frame, a byte
and a packet), Gaussian processes over what they leave, and curves by themselves, blended.  The fit is
put on dense curves, which the model answers from as it does from benchmarked ones.
"""
