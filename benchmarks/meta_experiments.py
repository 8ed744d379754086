"""Meta-learning TPE: ``python -m benchmarks.meta_experiments [--quick] [--json FILE]``.

The experiments of arXiv 2212.06751: ellipsoids with one source (Figure 2) and with several (Figure 12), and
HPOlib and NMT-Bench with the other tables as sources. Prints medians, similarities, normalised hypervolumes
and the claims of `benchmarks.meta_claims`; exits with status 1 if one does not hold. ``--quick`` leaves out
HPOlib and Figure 12; the rest are the same runs. Needs the tables: the environment variable PARZAX_DATA names
their folder. docs/meta_experiments.md says how to read the output.
"""

from benchmarks import timing  # noqa: F401  isort: skip  (pins the core before JAX is loaded)

import dataclasses
import json
import sys
import time

from benchmarks import command, meta_claims, meta_runs


def show(results: meta_claims.Results) -> list[meta_claims.Claim]:
    """Print everything; the claims."""
    for dim in results.alone:
        print(f"\nEllipsoid, D = {dim}: median best loss of {len(results.alone[dim])} runs\n")
        print(meta_claims.medians_table(results, dim))
    if results.by_candidates:
        print(f"\nThe same by the number of candidates, D = {meta_claims.MANY}\n")
        print(meta_claims.candidates_table(results))
    print(f"\nSimilarity of the source, D = {meta_claims.FEW}, mean and standard error\n")
    print(meta_claims.similarity_table(results))
    print(f"\nTables: mean normalised hypervolume of {meta_runs.N_RUNS_MANY} runs\n")
    print(meta_claims.share_table(results))
    claims = meta_claims.claims(results)
    print("\nClaims\n")
    print(meta_claims.claims_table(claims))
    return claims


def main(argv: list[str] | None = None) -> int:
    """Run, print, and return 1 if a claim does not hold."""
    options = command.begin(__doc__, "one source on ellipsoids, and NMT-Bench alone", argv)
    start = time.perf_counter()

    def report(what: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {what}", file=sys.stderr, flush=True)

    results = meta_runs.measure(options.quick, report)
    print(f"{time.perf_counter() - start:.0f} s, compilation and all")
    claims = show(results)
    if options.json:
        rows = [dataclasses.asdict(claim) | {"holds": claim.holds} for claim in claims]
        options.json.write_text(json.dumps(rows, indent=1))
    return command.verdict([claim.text for claim in claims if not claim.holds])


if __name__ == "__main__":
    sys.exit(main())
