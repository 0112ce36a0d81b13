"""A link that restores a bundled sample with its settings and pins; what it says is checked.

Of a file of the user it holds the settings, the name and a fingerprint, never what is in it: when
the same file is opened again, the settings apply again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loopylatent.distances.matrix import METRICS
from loopylatent.errors import DataError, LoopyLatentError, Message
from loopylatent.exporting.project.file import LONGEST_PIN_NAME, MOST_PINS, Pin
from loopylatent.exporting.project.recipe import Recipe, check_encodable
from loopylatent.learning.initial_graph import check_radius
from loopylatent.tables.samples import sample_names
from loopylatent.ui.shell.cache import Memo
from loopylatent.ui.shell.stages import sample_recipe, source_of

NUMBERS = ("r", "Lambda", "tau")
WORDS = ("method", "order", "metric", "regularize")
NOT_BUNDLED = "The link names a table that is not bundled; here is another one."
READING = ("drop", "labels", "kinds", "weights", "drop_degenerate", "n_samples")
"""How a file is read; only what differs from the usual goes into a link."""
LONGEST_READING = 2000
"""Characters; a link that would need more is not made."""
NOTHING = Recipe(source="no table", source_kind="table", r=0.0, Lambda=0.0, tau=0.0)
"""Where not even a bundled table can be opened."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The recipe with which a session starts, and what has to be said about it."""

    recipe: Recipe
    fresh: Recipe
    """The same data with the settings with which they open of themselves."""
    notice: str | None = None


def opening_of(params: Mapping[str, str], first_sample: str, memo: Memo) -> Opening:
    """Read a link; what cannot be used is left out and said in one line."""
    try:
        if "digest" in params:
            recipe = _file_recipe(params)
            return Opening(recipe, recipe)
    except (LoopyLatentError, TypeError, KeyError):
        return _another(first_sample, memo, "The link of a file cannot be used; here is a sample.")
    name = params.get("sample", first_sample)
    try:
        if name not in sample_names():
            return _another(first_sample, memo, NOT_BUNDLED)
        recipe = sample_recipe(memo, name)
    except LoopyLatentError:  # the bundled tables are gone
        return Opening(NOTHING, NOTHING)
    try:
        asked = replace(recipe, **_values(params))
        check_radius(source_of(memo, {}, asked).distances, asked.r)
    except (LoopyLatentError, TypeError) as error:
        return Opening(recipe, recipe, Message("The link's settings cannot be used: ", str(error)))
    return Opening(asked, recipe)


def _another(first_sample: str, memo: Memo, notice: str) -> Opening:
    try:
        recipe = sample_recipe(memo, first_sample)
    except LoopyLatentError:
        return Opening(NOTHING, NOTHING)
    return Opening(recipe, recipe, notice)


def params_of(recipe: Recipe) -> dict[str, str]:
    """Return what a link says; empty where it would be too long, and where nothing is open."""
    if recipe.source_kind == "sample":
        params = {"sample": recipe.sample_name}
    else:
        params = _file_params(recipe)
        if not params:
            return {}
    params |= {name: repr(getattr(recipe, name)) for name in NUMBERS}
    params |= {name: getattr(recipe, name) for name in WORDS}
    return params | {"seed": str(recipe.seed)}


def _file_params(recipe: Recipe) -> dict[str, str]:
    """Say which file is meant and how it is read."""
    told, usual = recipe.to_dict(), NOTHING.to_dict()
    reading = {name: told[name] for name in READING if told[name] != usual[name]}
    text = json.dumps(reading, separators=(",", ":"), ensure_ascii=False)
    if recipe.data_digest is None or len(text) > LONGEST_READING:
        return {}
    params = {"file": recipe.source, "kind": recipe.source_kind, "digest": recipe.data_digest}
    return params | ({"reading": text} if reading else {})


def _file_recipe(params: Mapping[str, str]) -> Recipe:
    """Read what a link says of a file."""
    try:
        reading = json.loads(params.get("reading", "{}"))
    except (ValueError, RecursionError):
        reading = None
    if not isinstance(reading, dict) or not set(reading) <= set(READING):
        raise DataError("the link does not say how the file is read; copy it again.")
    if params["kind"] not in ("table", "distances"):
        raise DataError("the link names a kind of file that there is not.")
    return Recipe.from_dict(
        {"source": params["file"], "source_kind": params["kind"], "data_digest": params["digest"]}
        | reading
        | _values(params)
    )


def pin_params(pins: Sequence[Pin]) -> dict[str, str]:
    """Return what a link says of the pins; those of uploaded data are left out."""
    carried = [[pin.name, _short(pin.recipe)] for pin in pins if pin.recipe.source_kind == "sample"]
    return {"pins": json.dumps(carried, separators=(",", ":"))} if carried else {}


def pins_of(params: Mapping[str, str]) -> tuple[Pin, ...]:
    """Read the pins of a link; those that cannot be used are left out."""
    try:
        read = json.loads(params.get("pins", "[]"))
    except (ValueError, RecursionError):
        return ()
    found: dict[str, Pin] = {}
    for entry in read[:MOST_PINS] if isinstance(read, list) else []:
        pin = _pin(entry)
        if pin is not None:
            found.setdefault(pin.name, pin)
    return tuple(found.values())


def _pin(entry: Any) -> Pin | None:
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], dict):
        return None
    name, told = entry
    if not isinstance(name, str) or not name.strip():
        return None
    params = {str(key): str(value) for key, value in told.items()}
    try:
        check_encodable("the name", name)
        values = _values(params)
        recipe = Recipe(source=f"sample:{params['sample']}", source_kind="sample", **values)
    except (LoopyLatentError, TypeError, KeyError):
        return None
    return Pin(name.strip()[:LONGEST_PIN_NAME], recipe)


def _short(recipe: Recipe) -> dict[str, str]:
    """The parameters of a recipe without those that are as always."""
    usual = {"method": "quartet", "order": "degree", "metric": "auto", "regularize": "none"}
    usual |= {"seed": "0"}
    return {key: value for key, value in params_of(recipe).items() if usual.get(key) != value}


def _values(params: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in NUMBERS:
        if name in params:
            values[name] = _number(name, params[name])
    values |= {name: params[name] for name in WORDS if name in params}
    if values.get("metric", "auto") not in METRICS:
        raise DataError(f"metric {params['metric'][:20]!r} is unknown.")
    if "seed" in params:
        values["seed"] = _whole("seed", params["seed"])
    return values


def _whole(name: str, text: str) -> int:
    number = _number(name, text)
    if number != int(number):
        raise DataError(f"{name} is {text[:20]!r}, which is no whole number.")
    return int(number)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{name} is {text[:20]!r}, which is no finite number.")
    return number
