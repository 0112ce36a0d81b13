"""A link that restores a bundled sample with its settings and pins; what it says is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loopylatent.distances import METRICS
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.initial_graph import check_radius
from loopylatent.recipe import Recipe
from loopylatent.samples import sample_names
from loopylatent.ui.memo import Memo
from loopylatent.ui.stages import sample_recipe, source_of

NUMBERS = ("r", "Lambda", "tau")
WORDS = ("method", "order", "metric", "regularize")
MOST_PINS = 8
LONGEST_PIN_NAME = 40


@dataclass(frozen=True, slots=True)
class Pin:
    """A setting that is kept to be compared, with a name."""

    name: str
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Opening:
    """The recipe with which a session starts, and what has to be said about it."""

    recipe: Recipe
    fresh: Recipe
    """The same data with the settings with which they open of themselves."""
    notice: str | None = None


def opening_of(params: Mapping[str, str], first_sample: str, memo: Memo) -> Opening:
    """Read a link; what cannot be used is left out and said in one line."""
    name = params.get("sample", first_sample)
    if name not in sample_names():
        recipe = sample_recipe(memo, first_sample)
        return Opening(
            recipe, recipe, "The link names a table that is not bundled; here is another one."
        )
    recipe = sample_recipe(memo, name)
    try:
        asked = replace(recipe, **_values(params))
        check_radius(source_of(memo, {}, asked).distances, asked.r)
    except (LoopyLatentError, TypeError) as error:
        return Opening(recipe, recipe, f"The link's settings cannot be used: {error}")
    return Opening(asked, recipe)


def params_of(recipe: Recipe) -> dict[str, str]:
    """Return what a link says; empty for uploaded data, which a link cannot carry."""
    if recipe.source_kind != "sample":
        return {}
    params = {"sample": recipe.sample_name}
    params |= {name: repr(getattr(recipe, name)) for name in NUMBERS}
    params |= {name: getattr(recipe, name) for name in WORDS}
    return params | {"seed": str(recipe.seed)}


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
