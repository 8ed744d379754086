"""`minimize`: a search over any Python function, on any executor, with every evaluation in a file."""

import json
import os
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np

from parzax import _checks
from parzax._checks import Sense
from parzax._progress import is_shown, progress_bar
from parzax._words import plural
from parzax.lens.logs import Observations
from parzax.lens.run.session import Row, Session
from parzax.samplers import Sampler, tpe
from parzax.samplers.problem import VALID
from parzax.space import Space

# If so many first evaluations raise, the function is probably wrong, and not the configurations.
_MOST_RAISED = 10

# A line of the file: "row", the number of the suggestion; "params", its values by name; "results", numbers by
# name without NaN, unless the function raised; "error", a text, if the evaluation failed.
Evaluation: TypeAlias = dict[str, Any]

# What to write instead of an argument that `minimize` does not have.
_INSTEAD = {
    "n_jobs": "n_parallel=...",
    "seed": "key=jax.random.key(seed)",
    "state": "folder=..., with which a later call goes on, or sampler.ask and sampler.tell in a loop",
    **dict.fromkeys(("stop", "on_round"), "sampler.ask and sampler.tell in a loop"),
    **VALID,
}


@_checks.known_arguments(_INSTEAD)
def minimize(
    function: Callable[[dict[str, Any]], Any],
    space: Space | Mapping[str, Any],
    n: int,
    *,
    key: Any = None,
    sampler: Sampler | None = None,
    directions: Sense | Mapping[str, Sense] = "minimize",
    constraints: Sequence[str] = (),
    n_parallel: int = 1,
    executor: Executor | Callable[[], Executor] | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Observations:
    """Search for the best configuration of any Python function, and return the log of all evaluations.

    `parzax.optimize` is for functions that JAX can trace; it compiles the whole run.

    Args:
        function: called with a dict of named values, as `parzax.Space.as_dict` gives them: choices as they
            were written, ints for `Int`, no inactive parameters, nested ones as "optimizer.momentum". It
            returns a number, or a dict with a number for each name in ``directions`` and ``constraints``,
            whose other entries are ignored. An evaluation that raises an exception or returns NaN has failed,
            and counts as bad.
        space: a `parzax.Space`, or a dict of domains.
        n: number of evaluations, those in the folder and failed ones included.
        key: random key; ``jax.random.key(0)`` by default.
        sampler: a sampler of the space, with the same directions and number of constraints; `parzax.tpe` by
            default.
        directions: objectives by name, such as ``{"accuracy": "maximize", "seconds": "minimize"}``; or
            "minimize" for one objective with the name "loss", or "maximize" for one with the name "score".
        constraints: names of constraints, which are satisfied where <= 0.
        n_parallel: number of evaluations at a time. A new one starts as soon as one ends. Those that run
            count as bad.
        executor: runs the function: threads or processes of `concurrent.futures`, Dask's
            ``client.get_executor()``, ``mpi4py.futures``; or a function that makes the executor. By default
            it runs in this thread, or in ``n_parallel`` threads. Processes must be spawned, since JAX does
            not survive a fork: ``ProcessPoolExecutor(4, multiprocessing.get_context("spawn"))``.
        folder: where to keep the evaluations: one line of the file ``evaluations.jsonl`` each, written before
            the next suggestion is made. After a kill the same call goes on with the rows that have no line
            there; if every evaluation raised, it starts anew. Calls at the same time need different folders.
            Without a folder they are kept in a temporary one; an error, Ctrl-C included, says where.
        progress: whether to show a progress bar, with the best values so far, on stderr; None shows one on a
            terminal.

    Returns:
        The log, for `parzax.cond_ped_anova` and others. ``log.best_params()`` is the best configuration, and
        ``log.report.errors`` has the messages of failed rows. Rows are in the order in which they were
        suggested. One at a time, a search depends on the key alone; so a resumed one equals one that was not
        interrupted. In parallel it depends also on the order in which evaluations end.

    Raises:
        TypeError, ValueError: for wrong arguments, a folder of another search or of one that still runs, and
            a function that returns something else than numbers of these names.
        RuntimeError: the first ten evaluations raised, or all.
        OSError: an evaluation cannot be written, such as on a full disk. Earlier ones are kept.

    Warns:
        UserWarning: at the end, if evaluations raised.

    If a process of a `ProcessPoolExecutor` dies, its error ends the search; the same call with a new executor
    and the same folder goes on, and repeats what was running. If ``executor`` is a function, what was running
    failed, and a new pool goes on. Dask repeats what ran on a worker that died, three times by default.

    >>> import parzax as px
    >>> def loss(params):
    ...     return params["x"] ** 2 + (params["kind"] == "slow")
    >>> domains = {"x": px.Float(-1, 1), "kind": px.Categorical(["fast", "slow"])}
    >>> log = px.minimize(loss, domains, 20)
    >>> log.best_params()["kind"]
    'fast'
    """
    _checks.instance("function", function, Callable, "a function of a dict of named values")
    search = _Search(space if isinstance(space, Space) else Space.from_tree(space), directions, constraints)
    n, n_parallel = _checks.whole_number("n", n, 1), _checks.whole_number("n_parallel", n_parallel, 1)
    wanted = "an executor of concurrent.futures, or a function that makes one"
    _checks.instance("executor", executor, Executor | Callable | None, wanted)
    key = jax.random.key(0) if key is None else key
    _checks.check_key(key)
    session = Session(search.checked(sampler))
    with ExitStack() as stack:
        evaluations, write = stack.enter_context(_kept(folder, search.header()))
        update = stack.enter_context(progress_bar(n, "evaluations", is_shown(progress)))
        session.tell(map(search.row, evaluations))
        written = {evaluation["row"] for evaluation in evaluations}
        numbers = iter([number for number in range(n) if number not in written])
        make: Any = executor or (_ThisThread if n_parallel == 1 else partial(ThreadPoolExecutor, n_parallel))

        def start() -> Executor:
            pool = make()
            # At the end nothing runs, and an error need not wait for what runs.
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            return pool

        pool = executor if isinstance(executor, Executor) else start()
        running: dict[Future[Any], tuple[int, dict[str, Any], Row]] = {}
        stack.callback(lambda: [future.cancel() for future in running])
        while True:
            update(len(evaluations), search.describe_best(session.rows))
            for number in islice(numbers, n_parallel - len(running)):
                x = session.ask(number, key=key, pending=[row for _, _, row in running.values()])
                params = search.space.as_dict(x)
                try:
                    future = pool.submit(function, dict(params))
                except BrokenExecutor as error:
                    if pool is executor:
                        error.add_note("If executor is a function that makes one, a new one goes on.")
                        raise
                    pool = start()
                    future = pool.submit(function, dict(params))
                running[future] = number, params, Row(x, None)
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number, params, _ = running.pop(future)
                evaluation = {"row": number, "params": params, **search.read(future)}
                write(evaluation)
                evaluations.append(evaluation)
                session.tell([search.row(evaluation)])
                if len(evaluations) >= min(_MOST_RAISED, n) and all("results" not in e for e in evaluations):
                    cause = None if future.cancelled() else future.exception()
                    first = f"the first {plural(len(evaluations), 'evaluation')} raised"
                    example = f"such as {evaluation['error'].splitlines()[0]}"
                    raise RuntimeError(f"{first}, {example}; mend function.") from cause
    return search.log(evaluations)


class _ThisThread(Executor):
    """Calls a function at once, in the thread that submits it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _Search:
    """What is searched: a space, and what the function returns, objectives and constraints by name."""

    def __init__(self, space: Space, directions: Any, constraints: Any) -> None:
        if isinstance(directions, str | Enum):
            (sense,) = _checks.directions(directions)
            directions = {"score" if sense == "maximize" else "loss": sense}
        wanted = '"minimize", "maximize" or a dict of objectives by name, such as {"accuracy": "maximize"}'
        _checks.instance("directions", directions, Mapping, wanted)
        _checks.instance("constraints", constraints, list | tuple, 'a list of names, such as ["size"]')
        senses: Any = _checks.directions([*directions.values()])
        self.space, self.directions = space, dict(zip(directions, senses, strict=True))
        self.constraints = tuple(constraints)
        self._signs = [-1 if sense == "maximize" else 1 for sense in senses]

    def checked(self, sampler: Sampler | None) -> Sampler:
        """The sampler, `parzax.tpe` by default; ValueError if it is not for this search."""
        senses: Any = [*self.directions.values()]
        needed = tpe(self.space, directions=senses, n_constraints=len(self.constraints))
        sampler = needed if sampler is None else sampler
        _checks.instance("sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)")
        for name in ("space", "directions", "n_constraints"):
            has, needs = getattr(sampler, name), getattr(needed, name)
            if has != needs:
                raise ValueError(f"sampler has {name}={has!r}, but the arguments of minimize say {needs!r}.")
        return sampler

    def header(self) -> dict[str, Any]:
        """What is searched, as the first line of the file."""
        names = {"directions": self.directions, "constraints": [*self.constraints]}
        return {**names, **self.space.describe()}

    def read(self, future: Future[Any]) -> Evaluation:
        """The results or the error of a call of the function; TypeError if it returned anything else."""
        try:
            returned = future.result()
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        names = [*self.directions, *self.constraints]
        alone = len(names) == 1 and not isinstance(returned, Mapping)
        by_name: Any = {names[0]: returned} if alone else returned
        try:
            # An array of any library counts as a number if it has one element.
            numbers = {name: float(np.squeeze(by_name[name])) for name in names}
        except (KeyError, TypeError, ValueError) as error:
            wanted = f"{'a number or ' * alone}a dict with a number for each of {', '.join(map(repr, names))}"
            hint = (
                "arguments such as directions={'loss': 'minimize'}, constraints=['size'] name what it returns"
            )
            raise TypeError(f"function must return {wanted}, got {returned!r}; {hint}.") from error
        results = {name: number for name, number in numbers.items() if number == number}
        undefined = [f"{name} is NaN" for name in names if name not in results]
        return {"results": results} | ({"error": ", ".join(undefined)} if undefined else {})

    def row(self, evaluation: Evaluation) -> Row:
        """The evaluation as a row of a session."""
        results, x = evaluation.get("results", {}), self.space.as_row(evaluation["params"])
        excess = tuple(results.get(name, np.nan) for name in self.constraints)
        if "error" in evaluation:
            return Row(x, None, excess)
        signed = zip(self._signs, self.directions, strict=True)
        return Row(x, tuple(sign * results[name] for sign, name in signed), excess)

    def describe_best(self, rows: Sequence[Row]) -> str:
        """The best feasible value of each objective, as a text; "" if there is none."""
        losses = [row.losses for row in rows if row.losses and all(value <= 0 for value in row.constraints)]
        best = zip(self.directions, self._signs * np.min(losses, axis=0) if losses else [], strict=False)
        return ", ".join(f"best {name} {value:.4g}" for name, value in best)

    def log(self, evaluations: Sequence[Evaluation]) -> Observations:
        """The evaluations in the order of their suggestions; UserWarning if some raised."""
        ordered = sorted(evaluations, key=lambda evaluation: evaluation["row"])
        x, losses, excess = zip(*map(self.row, ordered), strict=True)
        failed = (np.nan,) * len(self.directions)
        objectives = self._signs * np.array([failed if row is None else row for row in losses])
        constraints, senses = excess if self.constraints else None, [*self.directions.values()]
        obs = Observations.from_arrays(self.space, x, objectives, senses, constraints=constraints)
        errors = {i: one["error"] for i, one in enumerate(ordered) if "error" in one}
        if raised := [one for one in ordered if "results" not in one]:
            problem = f"{len(raised)} of {plural(obs.n, 'evaluation')} raised"
            example = f"such as {raised[0]['error'].splitlines()[0]}"
            warnings.warn(
                f"{problem}, {example}; log.report.errors has all of them.", stacklevel=_checks.outside()
            )
        return replace(obs, report=replace(obs.report, objectives=tuple(self.directions), errors=errors))


@contextmanager
def _kept(
    folder: str | os.PathLike[str] | None, header: dict[str, Any]
) -> Iterator[tuple[list[Evaluation], Callable[[Evaluation], None]]]:
    """Yield the evaluations in the file of a folder, and a function that writes another one there.

    The first line of the file says what is searched; each other line is an evaluation. An unfinished last
    line, as a killed process leaves it, is dropped. So are all evaluations, if every one raised. A temporary
    folder is deleted at the end. If the block raises, the folder stays, and the error says where it is.

    ValueError for a folder in which another search runs, for a file of another search, with the first
    difference, and for a damaged line.
    """
    place = Path(tempfile.mkdtemp(prefix="parzax-") if folder is None else folder)
    place.mkdir(parents=True, exist_ok=True)
    path, lines = place / "evaluations.jsonl", []
    with ExitStack() as stack:
        # The lock of an empty database works on all systems, and ends with its process, even a killed one.
        try:
            lock = stack.enter_context(closing(sqlite3.connect(place / "lock", timeout=0)))
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            # Of a folder without locks, or one that cannot be written, the evaluations decide.
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                remedy = "wait for it, or give another folder"
                raise ValueError(f"another search runs in {place}; {remedy}.") from error
        content = path.read_bytes() if path.exists() else b""
        finished = content[: content.rfind(b"\n") + 1]
        for i, line in enumerate(finished.splitlines(), 1):
            with _checks.explain(f"line {i} of {path} is damaged; delete it"):
                lines.append(dict(json.loads(line)))
        there, *evaluations = lines or [header]
        _checks.agree(f"{path} is of another search", there, header, "give another folder")
        if not any("results" in evaluation for evaluation in evaluations):
            # The function was wrong: the search starts anew.
            evaluations, finished = [], content[: content.find(b"\n") + 1]
        file = stack.enter_context(open(path, "ab"))
        file.truncate(len(finished))

        def write(line: dict[str, Any]) -> None:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            if folder is not None:  # on the disk too, and not only safe from the end of this process
                os.fsync(file.fileno())

        if not finished:
            write(header)
        try:
            yield evaluations, write
        except BaseException as error:
            if any("results" in evaluation for evaluation in evaluations):
                remedy = f"the same call with folder={str(place)!r} goes on"
                error.add_note(f"{plural(len(evaluations), 'finished evaluation')} kept; {remedy}.")
            raise
    if folder is None:
        shutil.rmtree(place)
