"""Whole systems: devices, links, switches and streams, and what follows for each of them."""
