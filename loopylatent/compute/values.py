"""Array types, frozen arrays, and checks of arguments: each says what is wrong and what to give."""

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
"""Called with the pieces done and the pieces in all; may raise to stop the work."""
Check = Callable[[int, int], None]
"""What a piece of work calls now and then; raises when nobody waits for it any more."""


def frozen_array(values: Any, dtype: Any) -> NDArray[Any]:
    """Return a contiguous copy that cannot be written to."""
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


Parts = tuple[str | Remedy, ...]
Range = tuple[float, float]


def not_wanted(wanted: str, found: object, give: str) -> Parts:
    """Return the message for something of another type; ``give`` is code for the right one."""
    shown = f"{wanted} wanted here, not a {type(found).__name__}; give "
    return shown, Remedy("call", give), "."


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse what is not one of the known words."""
    if value not in known:
        raise ThresholdError(f"{name} = {value!r} is unknown; choose one of {', '.join(known)}.")


def check_whole(name: str, value: object, least: int, kind: type = int) -> None:
    """Refuse what is no whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, kind) or value < least:  # type: ignore[operator]
        raise ThresholdError(f"{name} = {value!r} is not a whole number of at least {least}.")


def check_seed(seed: object) -> None:
    """Refuse what begins no sequence of random numbers."""
    check_whole("seed", seed, 0, Integral)


def check_many(
    name: str, number: int, least: int, more: str = "",
    error: type[LoopyLatentError] = ThresholdError,
) -> None:  # fmt: skip
    """Refuse too small a number of something."""
    if number < least:
        setting = Remedy("setting", name, number)
        raise error(setting, f" is too few; give at least {least}{more}.")


def count(name: str, value: int, least: int) -> int:
    """Return a whole number of at least ``least``, or say in one line that it is none."""
    try:
        number = index(value)
    except TypeError:
        raise ThresholdError(Remedy("setting", name, repr(value)), " is no whole number.") from None
    check_many(name, number, least)
    return number


def finite(name: str, value: float, *advice: str | Remedy) -> float:
    """Return a number that is neither infinite nor NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ThresholdError(f"{name} = {value!r} is not a number; ", *advice, ".") from None
    if not math.isfinite(number):
        raise ThresholdError(f"{name} = {number} is not finite; ", *advice, ".")
    return number


def check_share(name: str, share: float, more: str = "") -> None:
    """Refuse what is no part of a whole."""
    if not 0 < share < 1:
        raise ThresholdError(
            Remedy("setting", name, f"{share:g}"), f" is not between 0 and 1{more}."
        )


def range_above_0(name: str, limits: Range, largest: float = math.inf) -> Range:
    """Return the two ends of a range above 0."""
    bound = f" of at most {largest:g}" if math.isfinite(largest) else ""
    most = min(largest, sys.float_info.max)
    return _range(name, limits, lambda low, high: 0 < low <= high <= most, "above 0", bound)


def range_within(name: str, limits: Range, largest: float) -> Range:
    """Return the two ends of a range that may hold negative numbers."""
    where = f"within {-largest:g} to {largest:g}"
    return _range(name, limits, lambda low, high: -largest <= low <= high <= largest, where)


def _range(
    name: str, limits: Range, fits: Callable[[float, float], bool], where: str, bound: str = ""
) -> Range:
    try:
        low, high = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise ThresholdError(f"{name} = {limits!r} is no range; give two numbers.") from None
    if not fits(low, high):
        raise ThresholdError(
            f"{name} = ({low:g}, {high:g}) is no range {where}; give two numbers{bound}, "
            "the smaller one first."
        )
    return low, high


class Shown:
    """A result with a view in `loopylatent.exporting.notebook`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        view = import_module("loopylatent.exporting.notebook")
        text: str = view.html_of(self)
        return text
