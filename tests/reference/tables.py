"""Benchmark tables under PARZAX_DATA, and one written on the spot; read and analysed in plain NumPy float64.

A row is found through native values, with a dictionary of all their combinations.
"""

import functools
import itertools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference import logs

OBJECTIVES = {
    "hpolib/slice_localization": ("valid_mse", "runtime"),
    "hpolib/naval_propulsion": ("valid_mse", "runtime"),
    "hpolib/parkinsons_telemonitoring": ("valid_mse", "runtime"),
    "nasbench201/cifar10": ("valid_error", "runtime"),
    "nasbench201/imagenet16_120": ("valid_error", "runtime"),
    "nmt_bench/so_en": ("bleu_padded", "decoding_time_padded"),
    "nmt_bench/sw_en": ("bleu_padded", "decoding_time_padded"),
    "generated/small": ("loss", "runtime"),
}


def names(constrained: bool = False) -> tuple[str, ...]:
    """The tables that can be had here."""
    every = tuple(OBJECTIVES) if logs.data_path() is not None else ("generated/small",)
    return tuple(name for name in every if not (constrained and name.startswith("nmt")))


@dataclass
class Raw:
    path: Path
    header: dict
    arrays: dict[str, np.ndarray]

    def metric(self, name: str) -> np.ndarray:
        """(n, s) in float64, minimised."""
        seeds = max([1, *(a.shape[1] for a in self.arrays.values() if a.ndim == 2 and a.dtype.kind == "f")])
        values = self.arrays[name].astype(np.float64)
        values = values if values.ndim == 2 else np.repeat(values[:, None], seeds, axis=1)
        return values if self.header["arrays"][name]["direction"] == "minimize" else 0.0 - values

    def native(self) -> np.ndarray:
        """(n, d) native values of the rows."""
        axes = [
            h["values"] if h["kind"] == "ordinal" else range(len(h["values"]))
            for h in self.header["hyperparameters"]
        ]
        return np.array(list(itertools.product(*axes)), dtype=np.float64)


@functools.cache
def load(name: str) -> Raw:
    if name == "generated/small":
        return small(Path(tempfile.mkdtemp(prefix="parzax-table-")))
    folder = logs.data_path()
    assert folder is not None
    path = folder / f"{name}.npz"
    with np.load(path, allow_pickle=False) as data:
        arrays = {key: data[key] for key in data.files}
    return Raw(path, json.loads(path.with_suffix(".json").read_text()), arrays)


def front(points: np.ndarray) -> np.ndarray:
    """The distinct non-dominated points of (n, 2) minimised ones, in order of the first."""
    best, kept = np.inf, []
    for point in points[np.lexsort((points[:, 1], points[:, 0]))]:
        if point[1] < best:
            best = point[1]
            kept.append(point)
    return np.array(kept)


# --- written on the spot -------------------------------------------------------------------------

SPACE = [
    {"name": "rate", "kind": "ordinal", "values": [0.0005, 0.001, 0.01], "log": True},
    {"name": "kind", "kind": "categorical", "values": ["relu", "tanh", "none"], "log": False},
    {"name": "units", "kind": "ordinal", "values": [16, 32, 64, 512], "log": True},
    {"name": "dropout", "kind": "ordinal", "values": [0.0, 0.3, 0.6], "log": False},
]
SHAPE = tuple(len(h["values"]) for h in SPACE)
N = int(np.prod(SHAPE))


def content(seed: int = 0) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays: 3 seeds, of which some are missing; runtimes that float32 cannot tell apart."""
    rng = np.random.default_rng(seed)
    loss = rng.lognormal(size=(N, 3))
    loss[1::2, 2] = np.nan
    loss[6, 0] = np.nan
    runtime = 1000 * (1 + 2.0**-40 * rng.permutation(3 * N).reshape(N, 3))
    size = rng.integers(1, 20, N).astype(np.float64)
    score = rng.normal(size=N)
    score[5] = np.nan
    tiny = np.where(np.arange(N) % 2, 5e-324, 0.0)
    arrays = {
        "index": np.stack(np.unravel_index(np.arange(N), SHAPE), axis=1).astype(np.int32),
        "loss": loss, "runtime": runtime, "size_mb": size, "score": score, "tiny": tiny,
    }  # fmt: skip
    header = {
        "name": "small",
        "n_configs": N,
        "shape": list(SHAPE),
        "hyperparameters": SPACE,
        "arrays": {
            "index": {"shape": [N, 4]},
            "loss": {"direction": "minimize"},
            "runtime": {"direction": "minimize"},
            "size_mb": {"direction": "minimize"},
            "score": {"direction": "maximize"},
            "tiny": {"direction": "minimize"},
        },
    }
    limits = {"size": size, "runtime": runtime.mean(axis=1)}
    thresholds = {
        name: {str(q): float(np.sort(values)[min(int(np.ceil(N * q)), N - 1)]) for q in (0.1, 0.5, 0.9)}
        for name, values in limits.items()
    }
    header["constraints"] = {
        "size": {"array": "size_mb", "thresholds": thresholds["size"]},
        "runtime": {"array": "runtime", "thresholds": thresholds["runtime"]},
    }
    entries = [(i, j) for i in range(N) for j in range(3) if loss[i, j] == loss[i, j]]
    header["oracle"] = {"none": _oracle(loss, entries, entries)}
    for kind in ("size", "runtime", "both"):
        header["oracle"][kind] = {}
        for q in ("0.1", "0.5", "0.9"):
            kept = [
                (i, j)
                for i, j in entries
                if (kind == "runtime" or size[i] <= thresholds["size"][q])
                and (kind == "size" or runtime[i, j] <= thresholds["runtime"][q])
            ]
            header["oracle"][kind][q] = _oracle(loss, kept, entries)
    means = np.nanmean(loss, axis=1)
    header["best_seed_mean"] = {"row": int(means.argmin()), "value": float(means.min())}
    points = front(np.array([[loss[i, j], runtime[i, j]] for i, j in entries]))
    worst = [max(loss[i, j] for i, j in entries), max(runtime[i, j] for i, j in entries)]
    header["pareto_front"] = {"points": points.tolist(), "reference_point": worst}
    return header, arrays


def _oracle(loss: np.ndarray, kept: list, entries: list) -> dict[str, float]:
    values = [float(loss[i, j]) for i, j in kept]
    return {"best": min(values), "worst": max(values), "feasible_fraction": len(kept) / len(entries)}


def write(folder: Path, header: object, arrays: dict[str, np.ndarray], name: str = "small") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    np.savez(path, **arrays)
    path.with_suffix(".json").write_text(json.dumps(header))
    return path


def small(folder: Path) -> Raw:
    header, arrays = content()
    return Raw(write(folder, header, arrays), header, arrays)
