"""The command `parzax` as its tests call it."""

from parzax.lens.cli import main


def run(capsys, *words) -> tuple[int, str, str]:
    """Exit status, stdout, stderr."""
    status = main(list(map(str, words)))
    return status, *capsys.readouterr()
