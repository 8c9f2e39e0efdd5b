"""How many runs the calibration loop saves: its choice against random and grid choice."""
