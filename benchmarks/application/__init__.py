"""The application's own work: predictions against runs of tools that do more with a frame."""
