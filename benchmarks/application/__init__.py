"""Application time per frame: predictions against runs of tools that work more on each frame."""
