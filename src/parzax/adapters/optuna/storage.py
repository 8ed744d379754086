"""Optuna's sqlite and journal files, read and never written to."""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages._rdb.models import BaseModel
from optuna.storages.journal import JournalFileBackend

from parzax import _checks

_SQLITE_MAGIC = b"SQLite format 3\x00"
_SQLITE_URL = re.compile(r"sqlite(\+\w+)?:///")


class StudyRecord(NamedTuple):
    """A study: its trials, "minimize" or "maximize" per objective, and the names of the objectives."""

    trials: list[optuna.trial.FrozenTrial]
    directions: tuple[_checks.Direction, ...]
    objectives: tuple[str, ...] = ()  # empty if the objectives have no names


def is_optuna_file(path: str | Path) -> bool:
    """Whether a file looks like an Optuna storage: any sqlite file, or a journal of Optuna operations.

    The first bytes of the file decide, not its name. The answer is False for a missing file, a folder and any
    other file.
    """
    with suppress(ValueError):
        path = file_path(path)
        return path.is_file() and _opener(path) is not None
    return False


def read_study(path: str | Path, study_name: str | None = None, option: str = "study_name") -> StudyRecord:
    """All trials of one study of a file; ValueError for an unknown name, or if several studies need a name.

    The error names the ``option`` that chooses a study.
    """
    with _opened(path) as storage:
        names = optuna.get_all_study_names(storage)
        if not names:
            raise ValueError(f"{str(path)!r} holds no study.")
        choice = ", ".join(map(repr, names))
        if study_name is None and len(names) > 1:
            raise ValueError(f"{str(path)!r} holds several studies, choose one with {option}: {choice}.")
        if study_name not in (None, *names):
            raise ValueError(f"{str(path)!r} holds no study named {study_name!r}; it has {choice}.")
        return recorded(optuna.load_study(study_name=study_name or names[0], storage=storage))


def read_studies(source: str | Path | BaseStorage) -> dict[str, StudyRecord]:
    """All studies of a file or a storage by name."""
    with nullcontext(source) if isinstance(source, BaseStorage) else _opened(source) as storage:
        names = optuna.get_all_study_names(storage)
        return {name: recorded(optuna.load_study(study_name=name, storage=storage)) for name in names}


def recorded(study: optuna.Study) -> StudyRecord:
    """All trials of a study, read once and not copied."""
    directions = tuple(direction.name.lower() for direction in study.directions)
    return StudyRecord(study.get_trials(deepcopy=False), directions, tuple(study.metric_names or ()))


@contextmanager
def _opened(path: str | Path) -> Iterator[BaseStorage]:
    """Open the storage in a file for reading; every failure is raised as a ValueError."""
    path = file_path(path)
    name = repr(str(path))
    if not path.is_file():
        raise ValueError(f"no file {name}." if not path.exists() else f"{name} is not a file.")
    open_storage = _opener(path)
    if open_storage is None:
        raise ValueError(
            f"{name} is neither an Optuna sqlite file nor an Optuna journal; other files of studies "
            "(pickle, joblib, YAML) are never read, since that could run code from them."
        )
    try:
        with open_storage(path) as storage:
            yield storage
    except Exception as error:  # sqlite3, SQLAlchemy, Alembic, json and Optuna each raise their own kinds
        if type(error) is ValueError:
            raise
        cause = error.__cause__ or error
        first_line = (str(cause).splitlines() or [""])[0]
        kind = type(cause).__name__
        raise ValueError(f"cannot read {name} as an Optuna storage: {kind}: {first_line}") from error


def file_path(path: str | Path) -> Path:
    """The path, or the path in an sqlite URL (after three slashes); ValueError for other URLs.

    >>> file_path("sqlite:///study.db").as_posix(), file_path("sqlite:////data/study.db").as_posix()
    ('study.db', '/data/study.db')
    """
    text = str(path)
    if url := _SQLITE_URL.match(text):
        return Path(text[url.end() :].partition("?")[0])
    # A Path merges the slashes of a URL, so an absolute path cannot be told from a relative one.
    if "://" in text or text.startswith("sqlite:"):
        kinds = "sqlite:///study.db (relative) and sqlite:////data/study.db (absolute) are, as text"
        remedy = "for another storage pass what optuna.load_study returns"
        raise ValueError(f"{text!r} is no sqlite URL; {kinds}; {remedy}.")
    return Path(text)


def _opener(path: Path) -> Callable[[Path], AbstractContextManager[BaseStorage]] | None:
    """The function that opens a file, chosen by its content (sqlite or journal); None for other files."""
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(_SQLITE_MAGIC):
        return _sqlite
    line = head.split(b"\n", 1)[0]
    return _journal if line.startswith(b"{") and b'"op_code"' in line else None


@contextmanager
def _sqlite(path: Path) -> Iterator[BaseStorage]:
    """Open a copy: sqlite makes files beside a write-ahead-logged one even to read it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "study.db"
        _copy_database(path, copy)
        _check_tables(path, copy)
        # A RuntimeError is about another version of the schema; its message says how to upgrade.
        with _checks.explain(repr(str(path)), RuntimeError):
            storage = RDBStorage(f"sqlite:///{copy}", skip_table_creation=True)
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()


def _copy_database(path: Path, copy: Path) -> None:
    """Copy a database with its journal or write-ahead log, as they are between two writes of a process."""
    path = path.resolve()

    def stamps() -> dict[str, tuple[int, int]]:
        files = [(end, path.with_name(path.name + end)) for end in ("", "-journal", "-wal")]
        return {end: (s.st_mtime_ns, s.st_size) for end, f in files if f.exists() for s in [f.stat()]}

    for _ in range(10):
        before = stamps()
        for end in before:
            shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        if before == stamps():
            return
    raise ValueError(f"{str(path)!r} keeps changing; read it when the run is over, or copy it first.")


def _check_tables(path: Path, copy: Path) -> None:
    """Refuse a database that is not an Optuna storage: Optuna would make its tables in it, or stamp it."""
    with closing(sqlite3.connect(copy)) as connection:
        kinds = dict(connection.execute("select lower(name), type from sqlite_master where type != 'index'"))
        # A view may be endless.
        if "view" in {kinds.get(table) for table in BaseModel.metadata.tables}:
            raise ValueError(f"{str(path)!r} has a view where Optuna has a table; it is not read.")
        if not kinds.keys() >= {"studies", "trials"}:
            raise ValueError(f"{str(path)!r} is an sqlite file but not an Optuna storage.")
        queries = (
            f"select 1 from {table}" for table in ("version_info", "alembic_version") if table in kinds
        )
        if sum(connection.execute(query).fetchone() is not None for query in queries) < 2:
            remedy = "run `optuna storage upgrade` on a copy of it"
            raise ValueError(f"{str(path)!r} was written by a very old Optuna; {remedy}.")


def _journal(path: Path) -> AbstractContextManager[BaseStorage]:
    # Optuna locks the file only to write, and leaves out a last line that is cut off.
    return nullcontext(JournalStorage(JournalFileBackend(str(path))))
