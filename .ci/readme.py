"""Run what README.md prints, its Python and its ``parzax`` commands in order; then the Python of docs/*.md.

The commands of docs/command_line.md run too, on the same files.

Works in the current folder, which should be empty: the files that the commands name are made here first.
``readme`` or ``docs`` as an argument runs this half alone.
"""

import gc
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


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

    # A file is written for all trials at once, which is faster than trial by trial.
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=150)
    for storage in ("sqlite:///study.db", JournalStorage(JournalFileBackend("journal.log"))):
        optuna.create_study(study_name="NAME", storage=storage).add_trials(study.trials)
    df = study.trials_dataframe()
    df["acc"] = -df.pop("value")
    df.to_parquet("trials.parquet")
    df.to_csv("trials.csv", index=False)
    df[:75].to_csv("before.csv", index=False)
    df[75:].to_csv("after.csv", index=False)
    Path("space.json").write_text(space)


def main() -> None:
    """Run all blocks of the README, then the pages; the first that fails ends it."""
    gc.set_threshold(100_000, 50, 100)  # as in notebooks.py
    halves = sys.argv[1:] or ["readme", "docs"]
    if "readme" in halves:
        run_readme()
    if "docs" in halves:
        run_commands(README.parent / "docs" / "command_line.md")
        for page in sorted((README.parent / "docs").glob("*.md")):
            run_page(page)


def run_readme() -> None:
    """Run the README's Python and commands in order, and look for the files that these write."""
    readme = README.read_text(encoding="utf-8")
    blocks = BLOCK.findall(readme)
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


def run_commands(page: Path) -> None:
    """Run a page's ``parzax`` commands on files made from its search space, and look for what these write."""
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    (space,) = [block for kind, block in blocks if kind == "json"]
    make_files(space)
    commands = [block for kind, block in blocks if kind == "bash"]
    for block in commands:
        print(block, flush=True)
        subprocess.run(["bash", "-euo", "pipefail", "-c", block], check=True)
    for name in re.findall(r"--(?:plot|json|csv) (\S+)", "".join(commands)):
        if not Path(name).stat().st_size:
            sys.exit(f"{name} is empty")
    print(f"{page.name}: {len(commands)} blocks of commands ran.")


def run_page(page: Path) -> None:
    """Run a page's blocks of Python from top to bottom, and look for the pictures that it shows."""
    text = page.read_text(encoding="utf-8")
    for picture in re.findall(r"^!\[.*?\]\((.+?)\)$", text, re.MULTILINE):
        if not (page.parent / picture).is_file():
            sys.exit(f"{page.name} shows {picture}, which is not there.")
    blocks = [block for kind, block in BLOCK.findall(text) if kind == "python"]
    namespace: dict = {"__name__": page.stem}
    for block in blocks:
        print(block, flush=True)
        exec(compile(block, str(page), "exec"), namespace)
    if blocks:
        print(f"{page.name}: {len(blocks)} blocks of Python ran.")


if __name__ == "__main__":
    main()
