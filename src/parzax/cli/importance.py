"""``parzax importance FILE``: read, compute in float64, print, write."""

import sys
from argparse import Namespace
from pathlib import Path

import jax

from parzax.cli.levels import parse_levels
from parzax.cli.progress import progress
from parzax.cli.reading import Source, read_log
from parzax.cli.writing import (
    Writer,
    check_outputs,
    csv_writer,
    figure_writer,
    json_writer,
    space_writer,
    write_all,
)
from parzax.importance import cond_ped_anova
from parzax.importance.table import to_text
from parzax.observations.columns import listed
from parzax.parzen import GridEstimator


def run_importance(args: Namespace) -> None:
    """Print the import report, the table and the advice; write the files that were asked for."""
    levels = parse_levels("--target-quantile", args.target_quantile)
    region = parse_levels("--region-quantile", args.region_quantile)
    if len(region) != 1:
        raise ValueError(f"--region-quantile must be one level, got {args.region_quantile!r}.")
    source = Source(
        path=Path(args.file),
        study=args.study,
        target=args.target,
        direction=args.direction,
        space=args.space,
        filter=args.filter,
        failed=args.failed,
    )
    check_outputs(
        {
            "--plot": args.plot,
            "--json": args.json,
            "--csv": args.csv,
            "--npz": args.npz,
            "--write-space": args.write_space,
        },
        {"the log": source.path} | ({} if args.space is None else {"the search space": Path(args.space)}),
    )
    _check_plot(args)
    if args.npz is not None and args.npz.suffix != ".npz":
        raise ValueError(f"--npz: {str(args.npz)!r} must end in .npz.")
    if args.plot is not None:
        # Before the work: the figure may need something that is not installed.
        from parzax import plotting as plotting
    with progress(f"reading {source.path}"):
        obs = read_log(source)
    if args.plot_parameter is not None and args.plot_parameter not in obs.space:
        raise ValueError(
            f"--plot-parameter: no parameter {args.plot_parameter!r}; there are {listed(obs.space.names)}."
        )
    with progress("compiling and computing"), jax.enable_x64(True):
        result = cond_ped_anova(
            obs,
            target_quantile=levels,
            region_quantile=region[0],
            objective=args.objective,
            estimator=GridEstimator.optuna() if args.estimator == "optuna" else GridEstimator(),
            reference=args.reference,
        )
    # The inferences stand on stderr, as notes.
    text = to_text(result, inferred=False)
    outputs: list[tuple[Path, Writer]] = []
    if args.plot is not None:
        outputs.append((args.plot, figure_writer(result, args.plot_kind, args.plot_parameter)))
    if args.json is not None:
        outputs.append((args.json, json_writer(result)))
    if args.csv is not None:
        outputs.append((args.csv, csv_writer(result)))
    if args.npz is not None:
        outputs.append((args.npz, result.save))
    if args.write_space is not None:
        outputs.append((args.write_space, space_writer(obs.space)))
    write_all(outputs)
    for sentence in obs.report.inferred:
        print(f"parzax: note: {sentence}", file=sys.stderr)
    if obs.n_objectives > 1:
        direction = obs.report.direction[args.objective]
        print(f"objective {args.objective} of {obs.n_objectives} ({direction}); --objective I for another")
    print(text)
    for path, _ in outputs:
        print(f"written: {path}")


def _check_plot(args: Namespace) -> None:
    """Refuse options of a figure that nobody asked for."""
    if args.plot_kind is not None and args.plot is None:
        raise ValueError("--plot-kind says what --plot draws: give --plot out.png too.")
    if args.plot_parameter is not None and args.plot_kind != "values":
        raise ValueError("--plot-parameter goes with --plot-kind values only.")
