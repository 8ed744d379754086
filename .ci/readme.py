"""Run what README.md prints: every block of Python, in order, then every block of ``parzax`` commands.

Works in the current folder, which should be empty: the files that the commands name are made here first.
"""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def make_files(space: str) -> None:
    """A study NAME in study.db and in journal.log, the same trials as tables, and the README's space."""
    import math

    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: optuna.Trial) -> float:
        loss = abs(math.log2(trial.suggest_int("rounds", 8, 2048, log=True)) - 7) / 8
        if trial.suggest_categorical("booster", ["gbtree", "gblinear"]) == "gbtree":
            return loss + (math.log10(trial.suggest_float("eta", 1e-4, 1.0, log=True)) + 1.5) ** 2
        return loss + 2.0

    study = optuna.create_study(
        study_name="NAME", storage="sqlite:///study.db", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=150)
    journal = JournalStorage(JournalFileBackend("journal.log"))
    optuna.copy_study(
        from_study_name="NAME", from_storage="sqlite:///study.db", to_storage=journal, to_study_name="NAME"
    )
    df = study.trials_dataframe()
    df["acc"] = -df.pop("value")
    df.to_parquet("trials.parquet")
    df.to_csv("trials.csv", index=False)
    Path("space.json").write_text(space)


def main() -> None:
    """Run all blocks; the first that fails ends it."""
    readme = README.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    (space,) = [text for kind, text in blocks if kind == "json"]
    make_files(space)
    namespace: dict = {"__name__": "readme"}
    n_python = n_shell = 0
    for kind, text in blocks:
        if kind == "python":
            print(text, flush=True)
            exec(compile(text, str(README), "exec"), namespace)
            n_python += 1
        elif kind == "bash" and re.search(r"^parzax ", text, re.MULTILINE) and "pip install" not in text:
            print(text, flush=True)
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
            n_shell += 1
    for name in re.findall(r"--(?:plot|json|csv) (\S+)", readme):
        if not Path(name).stat().st_size:
            sys.exit(f"{name} is empty")
    if not (n_python and n_shell):
        sys.exit("README.md has no blocks of Python, or none of commands.")
    print(f"README.md: {n_python} blocks of Python and {n_shell} of commands ran.")


if __name__ == "__main__":
    main()
