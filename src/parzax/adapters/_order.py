"""Small numbers in the order of sort keys: losses that float32 can tell apart."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import numpy as np

# Beside 0 float32 has room for ever smaller numbers, which devices take for 0.
_LEAST_GAP = 2.0**-20


class Order:
    """A label for every key, ascending with the keys; equal keys have equal labels.

    A sampler of one objective looks at the order of its losses alone. Losses in float64, or pairs such as
    Optuna's order of pruned trials, therefore go to the device as labels, which float32 holds exactly
    whatever the losses are: 10^6 + 10^-3 and 10^6 stay apart. A new key gets a label halfway between its
    neighbours'; where there is no room left, all labels are spread anew.
    """

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._labels: list[float] = []

    def add(self, keys: Iterable[Any]) -> bool:
        """Give labels to new keys; whether the labels of the old ones changed."""
        crowded = False
        for key in keys:
            place = bisect_left(self._keys, key)
            if place < len(self._keys) and self._keys[place] == key:
                continue
            below = self._labels[place - 1] if place > 0 else None
            above = self._labels[place] if place < len(self._labels) else None
            if below is not None and above is not None:
                new = float(np.float32((below + above) / 2))
                crowded |= not below < new < above or above - below < _LEAST_GAP
            else:
                new = below + 1 if below is not None else above - 1 if above is not None else 0.0
            self._keys.insert(place, key)
            self._labels.insert(place, new)
        if crowded:
            self._labels = [float(place) for place in range(len(self._keys))]
        return crowded

    def label(self, key: Any) -> float:
        """The label of a key that was added."""
        return self._labels[bisect_left(self._keys, key)]
