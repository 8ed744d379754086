"""Oracles: plain NumPy float64 loops and re-implemented objectives, independent of the library."""
