"""Padded numbers of rows."""

from parzax._numerics import capacity


def test_capacity():
    """64, 256, 1024, 4096, then doubling: at most four sizes up to 4096."""
    assert {capacity(n) for n in range(4097)} == {64, 256, 1024, 4096}
    for n in (4097, 8192, 8193, 100_000, 2**20, 2**20 + 1):
        size = capacity(n)
        assert size >= n
        assert size < 2 * n
        assert size & (size - 1) == 0
