"""What streams get of ports they share, as means: shares, losses, classes, waiting.  Pure numbers."""
