"""Small numbers in the order of sort keys: losses that float32 can tell apart."""

from bisect import bisect_left
from typing import Any

import numpy as np


class Order:
    """A label for every key, ascending with the keys; equal keys have equal labels.

    A sampler of one objective looks at the order of its losses alone. Losses in float64, or pairs such as
    Optuna's order of pruned trials, therefore go to the device as labels, which float32 holds exactly
    whatever the losses are: 10^6 + 10^-3 and 10^6 stay apart. A new key gets a label halfway between its
    neighbours'; where float32 has no number left there, all labels are spread anew.
    """

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._labels: list[float] = []

    def label(self, key: Any) -> float | None:
        """The label of a key, or None where `spread` must be called first."""
        place = bisect_left(self._keys, key)
        if place < len(self._keys) and self._keys[place] == key:
            return self._labels[place]
        below = self._labels[place - 1] if place > 0 else None
        above = self._labels[place] if place < len(self._labels) else None
        if below is None or above is None:
            new = 0.0 if below is above is None else above - 1 if above is not None else below + 1  # type: ignore[operator]
        else:
            new = float(np.float32((below + above) / 2))
            if not below < new < above:
                return None
        self._keys.insert(place, key)
        self._labels.insert(place, new)
        return new

    def spread(self) -> None:
        """Make room everywhere; the labels of all keys change."""
        self._labels = [float(place) for place in range(len(self._keys))]
