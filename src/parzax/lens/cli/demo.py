"""``parzax demo``: the command on the log of a search that everybody knows, and what to type next."""

import shlex
from argparse import Namespace
from importlib.resources import files
from importlib.util import find_spec

from parzax.lens.cli.writing import check_outputs, say, text_writer, write_all

_ABOUT = """A random search: 400 small networks, each trained on 1,200 images of handwritten digits. The last
column is the loss on 597 other images. Which hyperparameters matter for being among the best?
"""
_NEXT = """
A page with all pictures:  parzax report {log} --target val_loss -o report.html
Your own log:              parzax importance results.csv --target NAME_OF_THE_COLUMN_THAT_YOU_OPTIMISE
An Optuna study:           parzax importance study.db
In Python:                 obs = px.Observations.from_dataframe(df, target="..."); px.cond_ped_anova(obs)
"""


def run(args: Namespace) -> None:
    """Write the log, run the command on it, and say what to type next."""
    from parzax.lens.cli.main import main

    figure, log = args.out, args.out.with_suffix(".csv")
    check_outputs({"--out": figure, "the log of the demo": log}, {})
    table = (files("parzax.lens.cli") / "network.csv").read_text(encoding="utf-8")
    write_all([(log, text_writer(table.rstrip("\n")))])
    words = ["importance", str(log), "--target", "val_loss"]
    if find_spec("matplotlib"):
        words += ["--plot", str(figure)]
    say(*_ABOUT.split("\n"), f"$ parzax {shlex.join(words)}")
    main(words)
    if not find_spec("matplotlib"):
        say("no figure: matplotlib is not installed; pip install 'parzax[plot]'")
    say(*_NEXT.format(log=log).rstrip("\n").split("\n"))
