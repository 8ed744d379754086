"""Which rows of a table belong together: by an identity, a column that counts steps, or repeated values."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from shlex import quote
from typing import NamedTuple

import numpy as np

from parzax.lens._rows import number_rows
from parzax.lens.tables.columns import Column, Table, listed
from parzax.lens.tables.formats import Format

# The patterns below are for names in small letters, with spaces in place of other signs.
_STEP = r"(?:epoch|step|iter|iteration|round|budget|fidelity)"
_COUNTS = re.compile(rf"(?:.*[./] ?)?(?:(?:train|training|val|global|current|trainer) )*{_STEP}")
# Names that count steps if parameters have a mark: then a column without the mark is no parameter.
_COUNTS_BESIDE = re.compile(rf"(?:.*[./ ])?{_STEP}")
_FOLDS = re.compile(r"(?:cv |data )?(?:fold|repeat|rep|replicate|replication)")
_SEED = re.compile(r"(?:.*[./ ])?(?:random )?seed")
_NAMES_TRIALS = re.compile(
    r"(?:trial|run|config|configuration)|(?:.*[./ ])?(?:trial|run|config|configuration|job|arm)"
    r" ?(?:id|name|number|num|no|index|idx|key|hash|uuid)|t?id"
)
# A column with such a name may only repeat the values of the parameters.
_OF_CONFIGURATION = re.compile("config|name|hash|key")
# Rows belong together by repeated values only if the different values are at most this share of the rows,
_MOST_DIFFERENT = 0.5
# and by an identity only if the different identities are at most this share.
_MOST_TRIALS = 0.9
# Fewer different values may agree by chance.
_LEAST_VALUES = 5


class Together(NamedTuple):
    """Rows that belong together, and the columns that say so.

    Attributes:
        configuration: (n,) number of each row's configuration.
        trial: (n,) number of each row's trial: repeats of a configuration are different trials.
        step: the column that counts the rows of a trial; None for the order of the rows.
        repeated: whether all rows of a configuration count, because they are measurements of equal rank.
        no_parameters: column -> why these rows show that it is no parameter.
    """

    configuration: np.ndarray
    trial: np.ndarray
    step: str | None
    repeated: bool
    no_parameters: dict[str, str]


def find_fidelity(form: Format, together: Together | None, others: Sequence[str]) -> str | None:
    """The column that says how far the run of each row went, such as its budget, among ``others``."""
    if together is not None and together.step is not None:
        return together.step
    beside = (c for c in others if form.prefix and re.fullmatch(r"(.*[./ ])?(budget|fidelity)", _plain(c)))
    return form.step if form.step in others else next(beside, None)


def tells_repeats_apart(name: str) -> bool:
    """Whether a column has the name of steps, folds, seeds or trials, which differ between equal settings."""
    return any(names.fullmatch(_plain(name)) for names in (_COUNTS, _FOLDS, _SEED, _NAMES_TRIALS))


@dataclass(frozen=True)
class TrialSearch:
    """The columns of a table, sorted by their possible roles, and the ways to find rows that belong together.

    Attributes:
        table: the table.
        form: its format.
        sure: columns that a format or the user calls parameters; they are constant in each trial.
        free: the other columns of parameters; the rows may show that they are none.
        others: columns that are not parameters and have no other role.
        numbers_of: returns a column as (n,) numbers, or None for labels.
        log_number: (n,) number of each row's log; trials stay within their log.
    """

    table: Table
    form: Format
    sure: Sequence[str]
    free: Sequence[str]
    others: Sequence[str]
    numbers_of: Callable[[str], np.ndarray | None]
    log_number: np.ndarray

    @cached_property
    def counters(self) -> list[str]:
        """Columns that may count the rows of a trial."""
        counts = _COUNTS_BESIDE if self.form.prefix and not self.free else _COUNTS
        return [c for c in (*self.free, *self.others) if c == self.form.step or counts.fullmatch(_plain(c))]

    @cached_property
    def repeats(self) -> list[str]:
        """Columns that may number repeats of a configuration."""
        return [*self._named(_FOLDS), *self._named(_SEED)]

    @cached_property
    def candidates(self) -> list[str]:
        """Columns that may be parameters, or results."""
        aside = (*self.counters, *self.repeats)
        return [c for c in self.free if c not in aside and self._n_values(c) > 1]

    def find(self) -> Together | None:
        """The rows that are of one trial or of one configuration; None if every row is a separate trial.

        An identity, such as ``trial_id``, is used if some columns are constant in each of its trials.
        Otherwise, a column that counts steps is used if configurations repeat. Without such a column, repeats
        are recognised by two columns of continuous values that repeat in the same rows. ValueError if an
        identity may be that of a trial or of a search.
        """
        if self.form.trial in self.table.names:
            number = self._number_labels(self.form.trial)
            return self._together(number, self.form.trial) if number.max() + 1 < self.table.n else None
        return self._by_identity() or self._by_continuous_values() or self._by_configurations()

    def _by_identity(self) -> Together | None:
        """Find trials by a column that names them, if enough columns are constant in each trial."""
        names = self._named(_NAMES_TRIALS)
        for name in names:
            number = self._number_labels(name)
            if number.max() + 1 > _MOST_TRIALS * self.table.n or self._changing(number, self.sure):
                continue
            free = [c for c in self.candidates if c not in names]
            changing = self._changing(number, free)
            constant = [*self.sure, *(c for c in free if c not in changing)]
            different = self._number([*constant, *self.repeats]).max() + 1
            if not constant or different < (number.max() + 1) / 2:
                continue
            counted = self._changing(number, [*self.counters, *self.repeats])
            if _OF_CONFIGURATION.search(_plain(name)) and not (counted or changing):
                continue
            if len(constant) <= len(changing) and not any(map(self._tells_apart, constant)):
                remedy = f"parameters={constant!r} (--parameters {' '.join(map(quote, constant))})"
                same = f"have the same {listed(constant)}, but other {listed(changing)}"
                raise ValueError(
                    f"rows with the same {name!r} {same}. "
                    f"If they are of one trial, name the parameters: {remedy}; "
                    f"if each row is a trial, leave it out: drop={name!r} (--drop {quote(name)})."
                )
            return self._together(number, name)
        return None

    def _by_continuous_values(self) -> Together | None:
        """Find trials by two or more columns of continuous values that repeat in the same rows."""
        alike: dict[bytes, list[str]] = {}
        for name in filter(self._tells_apart, self.candidates):
            if self._n_values(name) <= _MOST_TRIALS * self.table.n:
                alike.setdefault(self.table.codes(name).tobytes(), []).append(name)
        most_alike = max(alike.values(), key=len, default=[])
        if len(most_alike) < 2:
            return None
        number = self._number(most_alike)
        if self._changing(number, self.sure):
            return None
        changing = self._changing(number, self.candidates)
        repeats = self._changing(number, self.repeats)
        steps = self._changing(number, self.counters)
        if steps:
            apart = self._number([*most_alike, *repeats, *steps]).max() + 1 > _MOST_TRIALS * self.table.n
            return self._together(number) if apart else None
        # Two columns with the sizes of a few models also repeat together; rates then differ in each row.
        new = all(self._n_values(c) > _MOST_DIFFERENT * self.table.n for c in changing)
        certain = new and len(changing) < len(most_alike) and number.max() < _MOST_DIFFERENT * self.table.n
        return self._together(number) if certain and (changing or repeats) else None

    def _by_configurations(self) -> Together | None:
        """Find configurations by the values of all parameters, without those that count steps or folds."""
        parameters = [*self.sure, *self.free]
        counters = [c for c in (*self.counters, *self._named(_FOLDS)) if self._n_values(c) > 1]
        if not counters:
            return None
        for chosen in [*([c] for c in counters), counters]:
            fixed = [c for c in parameters if c not in chosen]
            number = self._number(fixed)
            # A single repeat is not chance if several continuous values repeat in it.
            sure = self.form.step in chosen or sum(map(self._tells_apart, fixed)) > 1
            most = self.table.n - 1 if sure else _MOST_DIFFERENT * self.table.n
            if fixed and number.max() + 1 <= most and self._changing(number, chosen):
                return self._together(number)
        # If other columns change from row to row too, steps must start at the same number in each trial.
        most = _MOST_DIFFERENT * self.table.n
        fixed = [c for c in parameters if c not in counters and self._n_values(c) <= most]
        kept = [c for c in fixed if c in self.candidates]
        more = len(kept) > len(self.candidates) / 2 and any(self.numbers_of(c) is not None for c in kept)
        if not (more or any(map(self._tells_apart, kept))):
            return None
        number = self._number(fixed)
        return self._together(number) if any(self._counts(number, c) for c in self.counters) else None

    def _together(self, number: np.ndarray, identity: str = "") -> Together:
        """The rows that belong together, from the number (n,) of each row's trial or configuration."""
        changing, repeats, steps = (
            self._changing(number, columns) for columns in (self.candidates, self.repeats, self.counters)
        )
        trial = number_rows([number, *map(self.table.codes, repeats)], self.table.n)
        if trial.max() + 1 == self.table.n and any(self._counts(number, c) for c in steps):
            # Each row of a trial has a different fold, so folds do not repeat all steps.
            changing, repeats, trial = [*changing, *repeats], [], number
        of_configurations = not identity or _OF_CONFIGURATION.search(_plain(identity))
        if not steps and not of_configurations:
            steps = [c for c in changing if self._counts(number, c)]
        step = self.form.step if self.form.step in self.table.names else None
        step = step or max(steps, key=self._n_values, default=None)
        repeated = step is None and bool(repeats or of_configurations)
        # If configurations have numbers, columns with the same few values in each of them may be parameters.
        crossed = [c for c in changing if self._is_crossed(number, c)] if repeated and not repeats else []
        what = "configuration" if repeated else "trial"
        no_parameters = {c: f"it changes within a {what}" for c in changing if c not in crossed}
        no_parameters |= dict.fromkeys(repeats, "it numbers repeats of a configuration")
        no_parameters |= dict.fromkeys(steps, "it counts the rows of a trial")
        no_parameters |= {identity: f"it names the {what}s"} if identity else {}
        return Together(number, trial, step, repeated, no_parameters)

    def _named(self, pattern: re.Pattern[str]) -> list[str]:
        """Columns whose name matches the pattern and which may not be parameters."""
        return [c for c in (*self.free, *self.others) if pattern.fullmatch(_plain(c))]

    def _number(self, columns: Sequence[str]) -> np.ndarray:
        """(n,) group numbers: rows of one log with equal values in all ``columns`` get the same number."""
        return number_rows([self.log_number, *map(self.table.codes, columns)], self.table.n)

    def _number_labels(self, name: str) -> np.ndarray:
        """(n,) group numbers, equal for rows of one log with equal labels; separate without a label."""
        return number_rows([self.log_number, read_labels(self.table.read(name))], self.table.n)

    def _n_values(self, name: str) -> int:
        return len(np.unique(self.table.codes(name)))

    def _tells_apart(self, name: str) -> bool:
        """Whether a column has several numbers, not all integers: equal ones are then hardly chance."""
        numbers = self.numbers_of(name)
        discrete = numbers is None or not (np.nan_to_num(numbers, posinf=0, neginf=0) % 1).any()
        return not discrete and self._n_values(name) >= _LEAST_VALUES

    def _changing(self, number: np.ndarray, columns: Sequence[str]) -> list[str]:
        """The columns that have different values in rows with the same ``number`` (n,)."""
        most = number.max()
        return [c for c in columns if number_rows([number, self.table.codes(c)], self.table.n).max() > most]

    def _counts(self, number: np.ndarray, name: str) -> bool:
        """Whether a column has consecutive integers, from the same start, in the rows of each ``number``."""
        values = self.numbers_of(name)
        if values is None or not np.isfinite(values).all() or (values % 1).any():
            return False
        order = np.lexsort((values, number))
        begins = np.append(True, np.diff(number[order]) > 0)
        steps = np.diff(values[order])
        starts = values[order][begins]
        return len(starts) < len(values) and bool((steps[~begins[1:]] == 1).all() and np.ptp(starts) == 0)

    def _is_crossed(self, number: np.ndarray, name: str) -> bool:
        """Whether nearly every ``number`` has each value of a column exactly once."""
        n_different = number_rows([number, self.table.codes(name)], self.table.n).max() + 1
        return n_different == self.table.n >= _MOST_TRIALS * (number.max() + 1) * self._n_values(name)


def read_labels(column: Column) -> np.ndarray:
    """(n,) number of the label of each row; each row without a label gets a separate number."""
    labels = column.as_labels()
    return np.where(labels.missing(), -1 - np.arange(len(labels.rows)), labels.index)


def _plain(name: str) -> str:
    """A name in small letters, with spaces in place of all signs except "." and "/"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return re.sub(r"[^a-z0-9./]+", " ", spaced).strip()
