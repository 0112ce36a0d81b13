"""Array types, frozen arrays, and checks of arguments."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from numbers import Integral
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.errors import LoopyLatentError, Remedy, ThresholdError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
StateArray = NDArray[np.int16]
Progress = Callable[[int, int], None]
"""Called with the number of tasks done and in total; may raise to stop the work."""
Check = Callable[[int, int], None]
"""Called by a task at intervals; raises if the task was cancelled."""


def frozen_array(values: Any, dtype: Any) -> NDArray[Any]:
    """Return a contiguous read-only copy."""
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


Parts = tuple[str | Remedy, ...]
Range = tuple[float, float]


def wrong_type(expected: str, found: object, use: str) -> Parts:
    """Return the message for an argument of the wrong type; ``use`` is code for a right one."""
    return f"Expected {expected}, not a {type(found).__name__}; use ", Remedy("call", use), "."


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Raise if the value is not one of the known ones."""
    if value not in known:
        raise ThresholdError(f"Unknown {name} = {value!r}. Choose one of {', '.join(known)}.")


def check_whole(name: str, value: object, least: int, kind: type = int) -> None:
    """Raise if the value is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, kind) or value < least:  # type: ignore[operator]
        raise ThresholdError(f"{name} = {value!r} is not a whole number of at least {least}.")


def check_seed(seed: object) -> None:
    """Raise if the seed is not a whole number of at least 0."""
    check_whole("seed", seed, 0, Integral)


def check_many(
    name: str, number: int, least: int, more: str = "",
    error: type[LoopyLatentError] = ThresholdError,
) -> None:  # fmt: skip
    """Raise if the number is below ``least``."""
    if number < least:
        setting = Remedy("setting", name, number)
        raise error(setting, f" is too small; use at least {least}{more}.")


def count(name: str, value: int, least: int) -> int:
    """Return the value as an int of at least ``least``, or raise."""
    try:
        number = index(value)
    except TypeError:
        setting = Remedy("setting", name, repr(value))
        raise ThresholdError(setting, " is not a whole number.") from None
    check_many(name, number, least)
    return number


def finite(name: str, value: float, *advice: str | Remedy) -> float:
    """Return the value as a finite float, or raise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ThresholdError(f"{name} = {value!r} is not a number; ", *advice, ".") from None
    if not math.isfinite(number):
        raise ThresholdError(f"{name} = {number} is not finite; ", *advice, ".")
    return number


def check_share(name: str, share: float, more: str = "") -> None:
    """Raise if the share is not strictly between 0 and 1."""
    if not 0 < share < 1:
        raise ThresholdError(
            Remedy("setting", name, f"{share:g}"), f" must be between 0 and 1{more}."
        )


def range_above_0(name: str, limits: Range, largest: float = math.inf) -> Range:
    """Return the two ends of a range above 0."""
    bound = f" of at most {largest:g}" if math.isfinite(largest) else ""
    most = min(largest, sys.float_info.max)
    return _range(name, limits, lambda low, high: 0 < low <= high <= most, "above 0", bound)


def range_within(name: str, limits: Range, largest: float) -> Range:
    """Return the two ends of a range between -``largest`` and ``largest``."""
    where = f"within {-largest:g} to {largest:g}"
    return _range(name, limits, lambda low, high: -largest <= low <= high <= largest, where)


def _range(
    name: str, limits: Range, fits: Callable[[float, float], bool], where: str, bound: str = ""
) -> Range:
    try:
        low, high = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise ThresholdError(f"{name} = {limits!r} is not a range; use two numbers.") from None
    if not fits(low, high):
        raise ThresholdError(
            f"{name} = ({low:g}, {high:g}) is not a range {where}; use two numbers{bound}, the "
            "smaller one first."
        )
    return low, high


class Shown:
    """A result with an HTML view in `loopylatent.exporting.notebook`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        view = import_module("loopylatent.exporting.notebook")
        text: str = view.html_of(self)
        return text
