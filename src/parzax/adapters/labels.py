"""Labels for sort keys: floats in the order of the keys, with gaps that float32 resolves."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import numpy as np

# Smallest distance of two labels. Near 0 float32 has smaller numbers, but devices may round them to 0.
_LEAST_GAP = 2.0**-20


class Labels:
    """A label for every key, ascending with the keys; equal keys have equal labels.

    A sampler of one objective uses only the order of the losses. So losses in float64, or pairs such as
    Optuna's order of pruned trials, are sent to the device as labels, which float32 represents exactly: the
    losses 10^6 + 10^-3 and 10^6 have different labels. A new key gets a label halfway between its neighbours'
    labels; if no room is left, all labels are spread anew.
    """

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._labels: list[float] = []

    def add(self, keys: Iterable[Any]) -> bool:
        """Label new keys; return whether the labels of old keys changed."""
        crowded = False
        for key in keys:
            place = bisect_left(self._keys, key)
            if self._keys[place : place + 1] == [key]:
                continue
            if 0 < place < len(self._keys):
                below, above = self._labels[place - 1 : place + 1]
                label = float(np.float32((below + above) / 2))
                crowded |= not below < label < above or above - below < _LEAST_GAP
            else:  # the key is smaller or larger than all others, or the first of all
                label = self._labels[-1] + 1 if place else self._labels[0] - 1 if self._labels else 0.0
            self._keys.insert(place, key)
            self._labels.insert(place, label)
        if crowded:
            self._labels = [float(place) for place in range(len(self._keys))]
        return crowded

    def label(self, key: Any) -> float:
        """The label of a key that was added."""
        return self._labels[bisect_left(self._keys, key)]
