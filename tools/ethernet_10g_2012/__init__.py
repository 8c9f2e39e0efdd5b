"""Rows of data/ethernet-10g-2012, from the thesis' tables and sentences by the README's rules."""
