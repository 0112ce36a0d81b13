"""Where the files are that come with the package: inside it, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path


def bundled(inside: str, beside: str, file: str) -> Path | None:
    """Return the folder that holds a file, or None where neither place has it.

    Parameters
    ----------
    inside : str
        The folder in an installed package.
    beside : str
        The folder in a checkout, seen from the folder that holds the package.
    file : str
        A file that the folder must have.

    Examples
    --------
    >>> folder = bundled("_samples", "sample_data", "samples.json")
    >>> (folder / "bfi25.csv.gz").is_file()
    True
    """
    package = Path(__file__).resolve().parent
    places = (package / inside, package.parent / beside)
    return next((folder for folder in places if (folder / file).is_file()), None)
