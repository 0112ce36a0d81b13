"""Everything that determines a shown graph: as data, as a Python script, as a command line.

Recipes come from files and links that somebody else may have made, and column names are data: each
value is checked, and no name can break out of the script or of the line.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, get_args

from loopylatent.distances.matrix import METRICS, Metric
from loopylatent.errors import DataError, did_you_mean, listed, quoted
from loopylatent.settings import LearnSettings, Method, Order, Thresholds, __version__
from loopylatent.tables.kinds import KINDS, Kind
from loopylatent.tables.samples import sample_names

SourceKind = Literal["sample", "table", "distances"]
Regularize = Literal["none", "bic"]

SAMPLE = "sample:"
LONGEST_FILE_NAME = 255
LARGEST_WHOLE = 2**63 - 1
LONGEST_COMMAND = 100_000
"""Characters; systems refuse longer command lines."""
WIDTH = 100
SETTINGS = ("r", "Lambda", "tau", "method", "order", "seed")
READING = ("drop", "labels", "kinds", "weights")

_DIGEST = re.compile("[0-9a-f]{16}")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "source_kind": get_args(SourceKind),
    "metric": METRICS,
    "method": get_args(Method),
    "order": get_args(Order),
    "regularize": get_args(Regularize),
}
_UNUSED: Mapping[SourceKind, tuple[str, ...]] = {
    "sample": ("data_digest", *READING, "n_samples"),
    "table": ("n_samples",),
    "distances": (*READING, "metric", "drop_degenerate", "regularize"),
}
"""What plays no part for each kind of source, and so keeps its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that determines a graph; the same recipe gives the same graph, bit for bit.

    Parameters
    ----------
    source : str
        ``sample:NAME``, or the name of a file without its folder.
    source_kind : {"sample", "table", "distances"}
    r, Lambda, tau : float
    data_digest : str, optional
        `digest_of` the content of the file.
    drop, labels : tuple of str
        Columns that are left out, and columns that only describe rows; kept sorted.
    kinds : tuple of (column, kind), or a mapping
        Corrected kinds; kept sorted.
    weights : str, optional
        The column that says how often each row counts.
    metric : str
    drop_degenerate : bool
        Whether constant and repeated columns are left out.
    n_samples : int, optional
        Rows behind given distances.
    method, order, seed
        See `LearnSettings`.
    regularize : {"none", "bic"}
        Whether hidden nodes must pay by the Bayesian information criterion.

    Examples
    --------
    >>> recipe = Recipe(source="sample:bfi25", source_kind="sample", r=2.5, Lambda=0, tau=0.1)
    >>> recipe.settings.thresholds
    Thresholds(r=2.5, Lambda=0.0, tau=0.1)
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    source: str
    source_kind: SourceKind
    r: float
    Lambda: float
    tau: float
    data_digest: str | None = None
    drop: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    kinds: tuple[tuple[str, Kind], ...] = ()
    weights: str | None = None
    metric: Metric = "auto"
    drop_degenerate: bool = False
    n_samples: int | None = None
    method: Method = "quartet"
    order: Order = "degree"
    seed: int = 0
    regularize: Regularize = "none"

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            _choice(name, getattr(self, name), allowed)
        _some_text("source", self.source)
        if self.weights is not None:
            _some_text("weights", self.weights)
        if self.n_samples is not None:
            _check_whole("n_samples", self.n_samples, 3)
        _check_whole("seed", self.seed, 0)
        digest, drops = self.data_digest, self.drop_degenerate
        _require("drop_degenerate", drops, isinstance(drops, bool), "be true or false")
        fits = digest is None or (isinstance(digest, str) and bool(_DIGEST.fullmatch(digest)))
        _require("data_digest", digest, fits, "be 16 hexadecimal digits")
        for name in ("r", "Lambda", "tau"):
            object.__setattr__(self, name, _finite_number(name, getattr(self, name)))
        for name in ("drop", "labels"):
            object.__setattr__(self, name, _column_names(name, getattr(self, name)))
        object.__setattr__(self, "kinds", _column_kinds(self.kinds))
        self._check_source()
        _ = self.settings  # refuses thresholds outside their limits

    @property
    def settings(self) -> LearnSettings:
        """What the learner reads beside the distances."""
        thresholds = Thresholds(self.r, self.Lambda, self.tau)
        return LearnSettings(thresholds, self.method, self.order, self.seed)

    @property
    def sample_name(self) -> str:
        """The name of the bundled sample."""
        if self.source_kind != "sample":
            raise DataError(f"{quoted(self.source)} is a file and no bundled sample.")
        return self.source.removeprefix(SAMPLE)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; its floats are exact."""
        plain: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {
            "drop": list(self.drop),
            "labels": list(self.labels),
            "kinds": dict(self.kinds),
        }

    @classmethod
    def from_dict(cls, values: Any) -> Recipe:
        """Check plain values from a file or a link, and make a recipe of them.

        Raises
        ------
        LoopyLatentError
            One line that names the entry which is missing, unknown or wrong.

        Examples
        --------
        >>> Recipe.from_dict({"source": "sample:bfi25", "speed": 9})
        Traceback (most recent call last):
        loopylatent.errors.DataError: a recipe has no entry 'speed'; is it from a newer version?
        """
        if not isinstance(values, Mapping):
            raise DataError(f"a recipe is a set of named values, not a {type(values).__name__}.")
        known = {field.name: field for field in fields(cls)}
        unknown = [str(name) for name in values if name not in known]
        if unknown:
            raise DataError(
                f"a recipe has no entry {listed(unknown, 3)}; is it from a newer version?"
            )
        missing = [n for n, f in known.items() if n not in values and f.default is MISSING]
        if missing:
            raise DataError(f"the recipe lacks {', '.join(missing)}; write it again.")
        return cls(**values)

    def _check_source(self) -> None:
        if self.source_kind == "sample":
            name, known = self.sample_name, sample_names()
            if not self.source.startswith(SAMPLE) or name not in known:
                raise DataError(
                    f"there is no sample {quoted(name)}; {did_you_mean(name[:99], known)}"
                )
        elif (
            len(self.source) > LONGEST_FILE_NAME
            or self.source in (".", "..")
            or set(self.source) & {"/", "\0"}
        ):
            raise DataError(
                f"{quoted(self.source)} is not the name of a file; give it without its folder, "
                f"at most {LONGEST_FILE_NAME} characters."
            )
        shown = {"sample": "a bundled sample", "table": "a table", "distances": "given distances"}
        for field in fields(self):
            unused = field.name in _UNUSED[self.source_kind]
            if unused and getattr(self, field.name) != field.default:
                raise DataError(
                    f"{field.name} plays no part for {shown[self.source_kind]}; leave it out."
                )


def digest_of(content: bytes) -> str:
    """Return the fingerprint of a file's content that a recipe keeps."""
    return hashlib.sha256(content).hexdigest()[:16]


# Checks ------------------------------------------------------------------------------------


def _require(what: str, value: Any, fits: bool, must: str) -> None:
    """Refuse a value, which may be anything, shown on one line and not too long."""
    if fits:
        return
    if isinstance(value, str):
        shown = quoted(value)
    elif isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        shown = "a huge number"
    else:
        is_short = value is None or isinstance(value, bool | int | float)
        shown = repr(value) if is_short else f"a {type(value).__name__}"
    raise DataError(f"{what} is {shown}; it must {must}.")


def check_encodable(what: str, text: str) -> None:
    """Refuse text that no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{what} {quoted(text)} holds half a character; correct it.") from None


def _some_text(what: str, value: Any) -> str:
    _require(what, value, isinstance(value, str) and bool(value.strip()), "be some text")
    check_encodable(what, value)
    return str(value)


def _column_names(what: str, values: Any) -> tuple[str, ...]:
    _require(what, values, isinstance(values, list | tuple), "be a list of column names")
    return tuple(sorted({_some_text(f"a name in {what}", value) for value in values}))


def _column_kinds(values: Any) -> tuple[tuple[str, Any], ...]:
    pairs = list(values.items()) if isinstance(values, Mapping) else values
    fits = isinstance(pairs, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    )
    _require("kinds", values, fits, "give columns their kinds")
    found: dict[str, str] = {}
    for column, kind in pairs:
        name = _some_text("a name in kinds", column)
        _choice(f"the kind of column {quoted(name)}", kind, KINDS)
        if found.setdefault(name, kind) != kind:
            raise DataError(f"column {quoted(name)} is given two kinds; give it one.")
    return tuple(sorted(found.items()))


def _choice(what: str, value: Any, allowed: Sequence[str]) -> None:
    fits = isinstance(value, str) and value in allowed
    _require(what, value, fits, f"be one of {', '.join(allowed)}")


def _finite_number(what: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(what, value, is_number and abs(value) <= LARGEST_WHOLE, "be a finite number")
    return float(value) + 0.0  # one way to write zero


def _check_whole(what: str, value: Any, least: int) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    fits = is_whole and least <= value <= LARGEST_WHOLE
    _require(what, value, fits, f"be a whole number from {least} on")


# The same, elsewhere -----------------------------------------------------------------------


def to_python(recipe: Recipe, *, max_hidden: int | None = None) -> str:
    """Return a script that learns the same graph and writes it to a file.

    It reads the table from the folder in which it runs. ``max_hidden`` is the limit with which a
    graph with a penalty was learned.
    """
    named = [f"{name}={getattr(recipe, name)!r}" for name in SETTINGS]
    if recipe.regularize != "none":
        named += ["obs=obs", f"regularize={recipe.regularize!r}"]
        named += [] if max_hidden is None else [f"max_hidden={max_hidden}"]
    lines = [
        f'"""Learn a graph again, with loopylatent {__version__}."""',
        "",
        "import loopylatent as ll",
        "",
        *_reading(recipe),
        _call("result = ll.learn", ["D", *named]),
        "print(result.graph)",
        f"ll.export(result, {_output(recipe)!r})",
    ]
    return "\n".join(lines) + "\n"


def _reading(recipe: Recipe) -> list[str]:
    """Lines of Python that read the data and compute the distances."""
    degenerate = ["on_degenerate='drop'"] if recipe.drop_degenerate else []
    distances = _call(
        "D = ll.information_distances", ["obs", f"metric={recipe.metric!r}", *degenerate]
    )
    if recipe.source_kind == "sample":
        return [f"obs = ll.load_sample({recipe.sample_name!r}).observations", distances]
    digest = recipe.data_digest
    note = [f"# the SHA-256 of the file began with {digest}"] if digest else []
    if recipe.source_kind == "distances":
        rows = [] if recipe.n_samples is None else [f"n_samples={recipe.n_samples}"]
        return [*note, _call("D = ll.read_distances", [repr(recipe.source), *rows])]
    values = recipe.to_dict()
    roles = [f"{n}={values[n]!r}" for n in READING if values[n]]
    table = _call("obs = ll.read_table", [repr(recipe.source), *roles, *degenerate])
    return [*note, table, distances]


def _call(start: str, arguments: Sequence[str]) -> str:
    line = f"{start}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return f"{start}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def to_command(
    recipe: Recipe, program: str = "python -m loopylatent", *, max_hidden: int | None = None
) -> str:
    """Return a line for a POSIX shell that learns the same graph and writes it to a file.

    It is one line without control characters: names that hold any are written with backslash
    escapes, which the option ``--escaped`` announces. ``program`` is how
    the command line of this package is called; it goes into the line as it is.
    """
    texts = _named_arguments(recipe)
    if not all(text.isprintable() for text in texts):
        texts = ["--escaped", *map(escaped, texts)]
    if recipe.source_kind == "distances":
        texts.append("--from-distances")
        texts += [] if recipe.n_samples is None else [f"--n-samples={recipe.n_samples}"]
    else:
        texts.append(f"--metric={recipe.metric}")
        texts += ["--drop-degenerate"] if recipe.drop_degenerate else []
    texts += [f"--{name}={getattr(recipe, name)}" for name in SETTINGS]
    if recipe.regularize != "none":
        texts.append(f"--regularize={recipe.regularize}")
        texts += [] if max_hidden is None else [f"--max-hidden={max_hidden}"]
    words = [program, "learn", *map(shlex.quote, texts), "-o", _output(recipe)]
    line = " ".join(words)
    if len(line) > LONGEST_COMMAND:
        raise DataError(
            f"the command line would have {len(line):,} characters, more than a shell takes; "
            "use the Python script."
        )
    return line


def _named_arguments(recipe: Recipe) -> list[str]:
    """Arguments that hold names of files and columns, which may be anything."""
    is_file = recipe.source_kind != "sample"
    looks_special = recipe.source.startswith(("-", SAMPLE))
    return [
        f"./{recipe.source}" if is_file and looks_special else recipe.source,
        *(f"--drop={name}" for name in recipe.drop),
        *(f"--label={name}" for name in recipe.labels),
        *(f"--kind={name}={kind}" for name, kind in recipe.kinds),
        *([] if recipe.weights is None else [f"--weights={recipe.weights}"]),
    ]


def _output(recipe: Recipe) -> str:
    """Return the name of the file to be written, which is not the one that is read."""
    return "graph.graphml" if recipe.source != "graph.graphml" else "learned.graphml"


_ESCAPE = re.compile(r"\\(?:[\\ntr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def escaped(text: str) -> str:
    r"""Write backslashes, and what is not seen, as backslash escapes."""
    return "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode()
        for char in text
    )


def unescaped(text: str) -> str:
    r"""Return the text that `escaped` has written."""
    try:
        if "\\" in _ESCAPE.sub("", text):
            raise ValueError
        return _ESCAPE.sub(lambda match: match[0].encode().decode("unicode_escape"), text)
    except ValueError:
        raise DataError(
            f"{quoted(text)} holds a backslash that begins no escape; write it twice."
        ) from None
