"""Padded sizes of arrays."""


def capacity(n: int) -> int:
    """Padded number of rows: 64, 256, 1024, 4096, then doubling, so that few shapes are compiled."""
    return next((size for size in (64, 256, 1024, 4096) if n <= size), 1 << (n - 1).bit_length())
