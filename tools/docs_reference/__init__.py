"""Pages of docs/reference that are made from the program, from data/ and from the probe."""
