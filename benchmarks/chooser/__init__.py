"""Runs that the calibration loop saves: its choice against random and grid choice."""
