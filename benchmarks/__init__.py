"""Speed, side by side with what one would take instead: ratios of interleaved repeats."""
