"""Optuna's sqlite and journal files: read, and left as they are."""

import functools
import json
import os
import pickle
import shutil
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

import parzax as px
from parzax.adapters.optuna.storage import read_studies

optuna.logging.set_verbosity(optuna.logging.WARNING)

adapter = px.adapters.optuna


def objective(trial):
    x = trial.suggest_float("x", 1e-3, 1, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    return x + (trial.suggest_int("depth", 1, 9) if kind == "a" else 0)


def storage_in(path):
    if path.suffix == ".db":
        return RDBStorage(f"sqlite:///{path}")
    return JournalStorage(JournalFileBackend(str(path)))


def write(path, names=("first",), n_trials=12):
    """Studies in a new file; the study objects, detached from it."""
    content, studies = written(path.suffix, tuple(names), n_trials)
    path.write_bytes(content)
    return studies


@functools.cache
def empty_database():
    """Cached, since Optuna takes a second to make one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.db")
        close(storage_in(path))
        return path.read_bytes()


@functools.cache
def written(suffix, names, n_trials):
    """The bytes of a file that Optuna wrote, and its studies."""
    studies = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plain" + suffix)
        if suffix == ".db":
            path.write_bytes(empty_database())
        storage = storage_in(path)
        for seed, name in enumerate(names):
            sampler = optuna.samplers.RandomSampler(seed=seed)
            study = optuna.create_study(
                storage=storage, study_name=name, sampler=sampler, direction="maximize"
            )
            study.optimize(objective, n_trials=n_trials)
            copy = optuna.create_study(direction="maximize")
            copy.add_trials(study.get_trials())
            studies.append(copy)
        close(storage)
        return path.read_bytes(), studies


def close(storage):
    if isinstance(storage, RDBStorage):
        storage.remove_session()
        storage.engine.dispose()


def state_of(folder):
    """Everything in a folder: names, bytes and times of modification."""
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(Path(folder).iterdir())}


@pytest.fixture(params=["study.db", "study.log", "odd name ?#%&é{0}.db"])
def path(request, tmp_path):
    return tmp_path / request.param


@pytest.mark.some(2)
def test_the_same_observations_as_from_the_study(path):
    # Catches a path that is not quoted in the URL, and values changed on the way.
    (study,) = write(path)
    for source in (path, str(path)):
        ours, theirs = adapter.observations(source), adapter.observations(study)
        assert ours.space == theirs.space
        np.testing.assert_array_equal(ours.values, theirs.values)
        np.testing.assert_array_equal(ours.losses, theirs.losses)
        assert ours.report == theirs.report


def test_nothing_is_written(path):
    # Catches a changed byte, a new time, or a -wal, -journal, -shm or .lock file.
    write(path)
    before = state_of(path.parent)
    folder_time = path.parent.stat().st_mtime_ns
    adapter.observations(path)
    list(read_studies(path))
    adapter.is_optuna_file(path)
    with pytest.raises(ValueError, match="no study named"):
        adapter.observations(path, "other")
    assert state_of(path.parent) == before
    # A file made and removed again would show here.
    assert path.parent.stat().st_mtime_ns == folder_time


def test_a_read_only_file_in_a_read_only_folder(path):
    write(path)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert adapter.observations(path).n == 12
    finally:
        path.parent.chmod(0o700)


def test_choosing_among_studies(path):
    write(path, ["first", "second"], n_trials=3)
    assert list(read_studies(path)) == ["first", "second"]
    assert adapter.observations(path, "second").n == 3
    with pytest.raises(ValueError, match=r"several studies.*'first', 'second'"):
        adapter.observations(path)
    with pytest.raises(ValueError, match="no study named 'third'; it has 'first', 'second'"):
        adapter.observations(path, "third")


def test_a_storage_without_studies(path):
    write(path, [])
    if path.suffix == ".db":
        assert list(read_studies(path)) == []
        with pytest.raises(ValueError, match="holds no study"):
            adapter.observations(path)
    else:  # an empty journal is an empty file
        assert not adapter.is_optuna_file(path)


def test_sqlite_urls_are_relative_or_absolute(tmp_path, monkeypatch):
    # Catches slashes that collapse, so that a relative namesake of an absolute path is read.
    folder, elsewhere = tmp_path / "there", tmp_path / "here"
    folder.mkdir()
    elsewhere.joinpath(*folder.parts[1:]).mkdir(parents=True)
    write(folder / "study.db", ["absolute"], n_trials=1)
    monkeypatch.chdir(elsewhere)
    write(Path(*folder.parts[1:], "study.db"), ["namesake"], n_trials=1)
    write(Path("study.db"), ["relative"], n_trials=1)
    for url, name in (
        (f"sqlite:///{folder}/study.db", "absolute"),
        ("sqlite:///study.db", "relative"),
        ("sqlite+pysqlite:///study.db?timeout=3", "relative"),
    ):
        assert list(read_studies(url)) == [name]
        assert adapter.is_optuna_file(url)
    # A Path has lost the slashes that tell them apart.
    for lost in (Path(f"sqlite:///{folder}/study.db"), Path("sqlite:///study.db"), "sqlite:/study.db"):
        assert not adapter.is_optuna_file(lost)
        with pytest.raises(ValueError, match="is no sqlite URL"):
            adapter.observations(lost)
    with pytest.raises(ValueError, match=r"optuna\.load_study"):
        adapter.observations("mysql://localhost/studies")


def test_a_file_is_known_by_its_content(path, tmp_path):
    # Catches going by the suffix.
    write(path)
    renamed = tmp_path / "renamed.txt"
    shutil.copy(path, renamed)
    assert adapter.is_optuna_file(renamed)
    assert adapter.observations(renamed).n == 12


class TestWriteAheadLog:
    def connect(self, path):
        connection = sqlite3.connect(path)
        assert connection.execute("pragma journal_mode=wal").fetchone() == ("wal",)
        return connection

    def test_closed(self, tmp_path):
        # sqlite makes -wal and -shm files even to read such a file.
        path = tmp_path / "study.db"
        write(path)
        self.connect(path).close()
        before = state_of(tmp_path)
        assert list(before) == ["study.db"]
        assert adapter.observations(path).n == 12
        assert state_of(tmp_path) == before

    def test_open_elsewhere_with_rows_not_yet_in_the_file(self, tmp_path):
        # Catches reading without the log (immutable), and touching the writer's -shm.
        path = tmp_path / "study.db"
        write(path)
        writer = self.connect(path)
        writer.execute("update studies set study_name = 'renamed'")
        writer.commit()
        before = state_of(tmp_path)
        assert "study.db-wal" in before
        assert list(read_studies(path)) == ["renamed"]
        assert state_of(tmp_path) == before
        writer.close()


class TestJournal:
    def test_a_truncated_last_line_is_left_out(self, tmp_path):
        # A run that was killed, or that goes on, may have half a line.
        path = tmp_path / "study.log"
        write(path)
        with path.open("ab") as file:
            file.write(b'{"op_code": 4, "worker_id"')
        assert adapter.observations(path).n == 12

    def test_a_broken_line_elsewhere_is_an_error(self, tmp_path):
        path = tmp_path / "study.log"
        write(path)
        lines = path.read_bytes().split(b"\n")
        lines[2] = lines[2][:10]
        path.write_bytes(b"\n".join(lines))
        with pytest.raises(ValueError, match=r"cannot read .*study\.log.* JSONDecodeError"):
            adapter.observations(path)
        lines[2] = b"[1, 2]"
        path.write_bytes(b"\n".join(lines))
        with pytest.raises(ValueError, match=r"cannot read .*study\.log"):
            adapter.observations(path)

    @pytest.mark.parametrize(
        "change", [{"op_code": 99}, {"study_name": None, "op_code": 3}, {"op_code": "x"}]
    )
    def test_operations_that_make_no_sense(self, tmp_path, change):
        # Catches KeyError and the like from inside Optuna.
        path = tmp_path / "study.log"
        write(path)
        first, rest = path.read_bytes().split(b"\n", 1)
        path.write_bytes(json.dumps({**json.loads(first), **change}).encode() + b"\n" + rest)
        with pytest.raises(ValueError, match=r"study\.log"):
            adapter.observations(path)


class Boom:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


OTHER_FILES = {
    "study.pkl": pickle.dumps(Boom()),
    "study.joblib": b"\x78\x9c" + b"x" * 50,
    "study.yaml": b"!!python/object/apply:os.mkdir [executed]\n",
    "space.json": b'{"parameters": []}',
    "pretty.json": b'{\n  "op_code": 1\n}',
    "table.csv": b"x,value\n1,2\n",
    "empty.db": b"",
    "zeros.db": b"\x00" * 100,
}


class TestRefused:
    @pytest.mark.parametrize("name", OTHER_FILES)
    def test_other_files(self, name, tmp_path, monkeypatch):
        # Catches anything that unpickles or evaluates, or an error without the file's name.
        monkeypatch.chdir(tmp_path)
        (tmp_path / name).write_bytes(OTHER_FILES[name])
        assert not adapter.is_optuna_file(tmp_path / name)
        with pytest.raises(ValueError, match=f"{name}' is neither an Optuna sqlite file nor"):
            adapter.observations(tmp_path / name)
        assert [p.name for p in tmp_path.iterdir()] == [name]

    def test_missing_files_and_folders(self, tmp_path):
        # sqlite would make the file.
        assert not adapter.is_optuna_file(tmp_path / "none.db")
        assert not adapter.is_optuna_file(tmp_path)
        with pytest.raises(ValueError, match="no file"):
            adapter.observations(tmp_path / "none.db")
        with pytest.raises(ValueError, match="is not a file"):
            adapter.observations(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def refused(self, path, match):
        before = state_of(path.parent)
        with pytest.raises(ValueError, match=match) as info:
            adapter.observations(path)
        assert "\n" not in str(info.value)
        assert state_of(path.parent) == before

    def test_an_sqlite_file_of_something_else(self, tmp_path):
        # Optuna would make its tables in it.
        path = tmp_path / "other.db"
        connection = sqlite3.connect(path)
        connection.execute("create table studies (x)")
        connection.commit()
        connection.close()
        self.refused(path, "not an Optuna storage")

    def changed(self, tmp_path, statement):
        path = tmp_path / "study.db"
        write(path)
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()
        return path

    @pytest.mark.parametrize(
        "statement",
        ["drop table alembic_version", "delete from alembic_version", "delete from version_info"],
    )
    def test_a_storage_from_before_versions(self, tmp_path, statement):
        # Optuna would stamp it.
        self.refused(self.changed(tmp_path, statement), "very old Optuna")

    def test_an_older_schema(self, tmp_path):
        path = self.changed(tmp_path, "update alembic_version set version_num = 'v2.6.0.a'")
        self.refused(path, "optuna storage upgrade")

    def test_a_newer_schema(self, tmp_path):
        self.refused(
            self.changed(tmp_path, "update alembic_version set version_num = 'v99'"), "updating optuna"
        )

    def test_a_missing_column(self, tmp_path):
        path = self.changed(tmp_path, "alter table trial_params rename column param_value to gone")
        self.refused(path, r"cannot read .*study\.db")

    @pytest.mark.parametrize(
        "rows", ["select 1", "select 1 union all select i + 1 from n"], ids=["one row", "endless"]
    )
    @pytest.mark.parametrize(
        "table", ["trial_values", pytest.param("studies", marks=pytest.mark.slow), "Trial_Params"]
    )
    def test_views(self, tmp_path, table, rows):
        # An endless one would be read for ever, and not even interrupted.
        path = self.changed(tmp_path, f"alter table {table} rename to moved")
        with sqlite3.connect(path) as connection:
            columns = [row[1] for row in connection.execute("pragma table_info(moved)")]
            values = ", ".join(f"1 as {name}" for name in columns)
            connection.execute(
                f"create view {table} as with recursive n(i) as ({rows}) select {values} from n"
            )
        connection.close()
        self.refused(path, "has a view where Optuna has a table|not an Optuna storage")

    def test_views_of_other_names_are_left_alone(self, tmp_path):
        # Somebody's own view of the trials is no reason to refuse the study.
        path = self.changed(tmp_path, "create view mine as select * from trials")
        assert adapter.observations(path).n == 12

    def test_a_truncated_file(self, tmp_path):
        path = tmp_path / "study.db"
        write(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        self.refused(path, r"cannot read .*study\.db")
