"""The hybrid variant: mechanism first, data on top.

A metric's rows, of all options and counts together, are fitted by a mechanism (costs a frame, a
byte and a packet) and a Gaussian process over what it leaves.  The fit is put on dense curves,
which the model answers from as it does from benchmarked ones.
"""
