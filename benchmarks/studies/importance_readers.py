"""Importances of logs by packages in environments of their own, for `benchmarks.studies.importance_peers`.

``PYTHON importance_readers.py LOGS.npz ANSWERS.npz`` reads with those of the packages that this Python has.
It imports nothing of the project. Values are places in [0, 1], codes of categories, or NaN if inactive.
"""

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

MOST_EVALUATIONS = 1 << 18
# By question of `importance_truths`: values (d,) of which shares are taken.
Answer = Mapping[str, Any]


class Axis(NamedTuple):
    """A parameter: its name, its number of values (0 for a continuum), whether they have an order; the number
    of the parameter that it depends on and the code there, or None.
    """

    name: str
    n_values: int
    ordered: bool
    parent: tuple[int, int] | None


def read_logs(
    readers: Mapping[str, Callable[[Any, np.ndarray, np.ndarray], Answer]],
    space: Any,
    x: np.ndarray,
    loss: np.ndarray,
    sizes: Sequence[int],
    n_slow: int = 0,
    slow: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """Answers of readers for the first n trials of logs x (s, n, d), loss (s, n).

    Returns:
        "40/READER/QUESTION" (s, d) for 40 trials, and "40/READER/seconds" (s,); only for the first ``n_slow``
        logs by ``slow`` readers. "refusal/READER" (): the first error, if there is one; no answer then.
    """
    found: dict[str, np.ndarray] = {}
    for n in sizes:
        for name, reader in readers.items():
            n_logs = min(n_slow, len(x)) if name in slow else len(x)
            answers, seconds = [], []
            try:
                for log_x, log_loss in zip(x[:n_logs, :n], loss[:n_logs, :n], strict=True):
                    start = time.perf_counter()
                    answers.append(_answer(reader, space, log_x, log_loss))
                    seconds.append(time.perf_counter() - start)
            except Exception as error:  # a refusal is a result
                found.setdefault(f"refusal/{name}", np.array(f"{n} trials: {error}"[:300]))
                continue
            found[f"{n}/{name}/seconds"] = np.array(seconds)
            for question in answers[0]:
                found[f"{n}/{name}/{question}"] = np.stack([answer[question] for answer in answers])
    return found


def _answer(reader: Callable, space: Any, x: np.ndarray, loss: np.ndarray) -> dict[str, np.ndarray]:
    """What a reader says, without what it prints and warns of."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with warnings.catch_warnings(), quiet[0], quiet[1]:
        warnings.simplefilter("ignore")
        answer = {question: np.asarray(value, float) for question, value in reader(space, x, loss).items()}
    if any(np.isnan(value).any() for value in answer.values()):
        raise ValueError("NaN is its answer for some parameters")
    return answer


def _jaxgsa() -> dict[str, Callable]:
    import jax
    import jaxgsa  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)

    def with_problem(method: Callable) -> Callable:
        def read(axes: Sequence[Axis], x: np.ndarray, loss: np.ndarray) -> Answer:
            number = {"dist": "uniform", "low": 0.0, "high": 1.0}
            specs: dict = {
                axis.name: number
                if axis.ordered
                else {"dist": "categorical", "probs": [1 / axis.n_values] * axis.n_values}
                for axis in axes
            }
            return method(jaxgsa.Problem.from_dict(specs), x, loss)

        return read

    def polynomials(problem: Any, x: np.ndarray, loss: np.ndarray) -> Answer:
        fit = jaxgsa.pce.analyze(problem, x, loss, verbose=False)
        return {"loss: alone": fit.S1, "loss: in all": fit.ST, "loss: Shapley": fit.shapley().Sh}

    def splines(problem: Any, x: np.ndarray, loss: np.ndarray) -> Answer:
        fit = jaxgsa.hdmr.analyze(problem, x, loss, verbose=False)
        return {
            "loss: alone": fit.Sa[: x.shape[1]],
            "loss: in all": fit.ST,
            "loss: Shapley": fit.shapley().Sh,
        }

    def ranks(problem: Any, x: np.ndarray, loss: np.ndarray) -> Answer:
        return {"loss: alone": jaxgsa.rank.analyze(problem, x, loss, verbose=False).S1}

    def delta(problem: Any, x: np.ndarray, loss: np.ndarray) -> Answer:
        return {"distribution": jaxgsa.borgonovo.analyze(problem, x, loss, verbose=False).delta}

    methods = {"PCE": polynomials, "HDMR": splines, "rank": ranks, "delta": delta}
    return {f"jaxgsa {name}": with_problem(method) for name, method in methods.items()}


def _salib() -> dict[str, Callable]:
    from SALib.analyze import delta, enhanced_hdmr, rbd_fast  # pyright: ignore[reportMissingImports]

    def bounds(axes: Sequence[Axis]) -> dict[str, Any]:
        highs = [1 if axis.ordered else axis.n_values - 1 for axis in axes]
        names = [axis.name for axis in axes]
        return {"num_vars": len(axes), "names": names, "bounds": [[0, high] for high in highs]}

    def fourier(axes: Sequence[Axis], x: np.ndarray, loss: np.ndarray) -> Answer:
        return {"loss: alone": rbd_fast.analyze(bounds(axes), x, loss, num_resamples=2, seed=0)["S1"]}

    def density(axes: Sequence[Axis], x: np.ndarray, loss: np.ndarray) -> Answer:
        found = delta.analyze(bounds(axes), x, loss, num_resamples=2, seed=0)
        return {"distribution": found["delta_balanced"]}

    def splines(axes: Sequence[Axis], x: np.ndarray, loss: np.ndarray) -> Answer:
        found = enhanced_hdmr.analyze(bounds(axes), x, loss, seed=0)
        return {"loss: alone": found["Sa"][: len(axes)], "loss: in all": found["ST"][: len(axes)]}

    methods = {"RBD-FAST": fourier, "delta": density, "enhanced HDMR": splines}
    return {f"SALib {name}": method for name, method in methods.items()}


def _configurations(axes: Sequence[Axis], x: np.ndarray) -> tuple[Any, list[Any]]:
    """The space, and the rows, in ConfigSpace."""
    import ConfigSpace as configspace

    choices = [list(map(str, range(axis.n_values))) for axis in axes]
    parameters: list[Any] = [
        configspace.Float(axis.name, (0.0, 1.0))
        if not axis.n_values
        else configspace.OrdinalHyperparameter(axis.name, of_axis)
        if axis.ordered
        else configspace.Categorical(axis.name, of_axis, default=of_axis[0])
        for axis, of_axis in zip(axes, choices, strict=True)
    ]
    space = configspace.ConfigurationSpace()
    space.add(*parameters)
    for axis, parameter in zip(axes, parameters, strict=True):
        if axis.parent:
            parent, code = axis.parent
            space.add(configspace.EqualsCondition(parameter, parameters[parent], choices[parent][code]))

    def value(axis: Axis, place: float) -> Any:
        if not axis.n_values:
            return float(place)
        return str(int(place * axis.n_values) if axis.ordered else int(place))

    rows = [
        {axis.name: value(axis, place) for axis, place in zip(axes, row, strict=True) if not np.isnan(place)}
        for row in x
    ]
    return space, [configspace.Configuration(space, row) for row in rows]


def _in_order(axes: Sequence[Axis], space: Any, values: Sequence[Any]) -> list[float]:
    by_name = dict(zip(space.keys(), values, strict=True))
    return [by_name[axis.name] for axis in axes]


def _hypershap() -> dict[str, Callable]:
    from hypershap import ExplanationTask, HyperSHAP  # pyright: ignore[reportMissingImports]

    def sensitivity(axes: Sequence[Axis], x: np.ndarray, loss: np.ndarray) -> Answer:
        space, rows = _configurations(axes, x)
        task = ExplanationTask.from_data(space, list(zip(rows, loss.tolist(), strict=True)))
        # Each of 2^d sets of parameters evaluates the forest so often.
        n_samples = min(2000, MOST_EVALUATIONS >> len(axes))
        values = HyperSHAP(task, n_workers=1).sensitivity(index="SV", order=1, n_samples=n_samples)
        return {"around the default": _in_order(axes, space, values.get_n_order_values(1))}

    return {"HyperSHAP sensitivity": sensitivity}


def _deepcave() -> dict[str, Callable]:
    from deepcave.evaluators.epm.fanova_forest import FanovaForest  # pyright: ignore[reportMissingImports]

    def forest(axes: Sequence[Axis], x: np.ndarray, loss: np.ndarray) -> Answer:
        if np.isnan(x).any():
            raise ValueError(
                "with inactive values its forest (pyrfr 0.9.0) ends the process, with a bus error"
            )
        space, rows = _configurations(axes, x)
        model = FanovaForest(space, n_trees=16, seed=0)
        model.train(np.array([row.get_array() for row in rows]), loss)
        numbers = tuple(range(len(axes)))
        alone = model.compute_marginals(numbers, 1)[0]
        variances = np.array(model.trees_total_variance)
        some = variances > 0
        values = [np.nanmean(np.array(alone[i,])[some] / variances[some]) for i in numbers]
        return {"loss: alone": _in_order(axes, space, values)}

    return {"DeepCAVE f-ANOVA": forest}


PACKAGES = {"jaxgsa": _jaxgsa, "SALib": _salib, "hypershap": _hypershap, "deepcave": _deepcave}


def main(logs: str, answers: str) -> None:
    """Read the logs with all packages that are installed."""
    with np.load(logs) as arrays:
        log = dict(arrays)
    axes = [Axis(*axis) for axis in json.loads(str(log["axes"]))]
    found: dict[str, np.ndarray] = {}
    for package, readers in PACKAGES.items():
        try:
            found[f"version/{package}"] = np.array(version(package))
        except PackageNotFoundError:
            continue
        sizes, n_slow = log["sizes"].tolist(), int(log["n_slow"])
        found |= read_logs(readers(), axes, log["x"], log["loss"], sizes, n_slow, ["HyperSHAP sensitivity"])
    np.savez(answers, **found)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main(*sys.argv[1:])
