"""A figure in words, for those who do not see it: what is drawn, with its numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_TRACES = 8
MOST_PAIRS = 8
LONGEST = 1500


def described(figure: Figure, about: str) -> str:
    """Say what a figure shows: for each line its name, its range and its ends.

    ``about`` is what it is, without a full stop.
    """
    drawn = [trace for trace in figure.data if _is_seen(trace)]
    axes = [_title(figure.layout.xaxis, "Across"), _title(figure.layout.yaxis, "Up")]
    parts = [f"{about}.", *(axis for axis in axes if axis)]
    parts += [text for trace in drawn[:MOST_TRACES] if (text := _trace(trace))]
    if len(drawn) > MOST_TRACES:
        parts.append(f"And {len(drawn) - MOST_TRACES} more.")
    text = " ".join(parts)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _is_seen(trace: Any) -> bool:
    marker = getattr(trace, "marker", None)
    opacity = getattr(marker, "opacity", None)
    is_clear = isinstance(opacity, int | float) and opacity == 0
    mode = getattr(trace, "mode", None)
    return not (is_clear and (mode is None or "lines" not in mode))


def _title(axis: Any, where: str) -> str:
    text = _words(axis.title.text)
    return f"{where}: {text}." if text else ""


def _words(text: Any) -> str:
    """A text without the marks that only a drawing needs."""
    return re.sub(r"\s+", " ", re.sub(r"<[a-zA-Z/][^>]*>", " ", str(text or ""))).strip()


def _trace(trace: Any) -> str:
    name = _words(trace.name) or "values"
    if trace.type == "heatmap":
        return f"{name}: {_heatmap(trace)}."
    x, y = _values(trace, "x"), _values(trace, "y")
    n = max(len(x), len(y))
    if n == 0:
        return ""
    across, up = _numbers(x), _numbers(y)
    if across is None or up is None:
        return f"{name}: {_pairs(x, y)}."
    parts = [f"{n} point{'s' * (n != 1)}", _range(across, "across"), _range(up, "up")]
    if n > 1 and len(up):
        parts.append(f"at the end {up[-1]:.4g}")
    return f"{name}: {', '.join(part for part in parts if part)}."


def _heatmap(trace: Any) -> str:
    z = np.asarray(trace.z, dtype=np.float64)
    finite = z[np.isfinite(z)]
    if not len(finite):
        return "no values yet"
    rows, columns = z.shape
    return f"{rows} rows and {columns} columns, from {finite.min():.4g} to {finite.max():.4g}"


def _values(trace: Any, name: str) -> Sequence[Any]:
    found = getattr(trace, name, None)
    return [] if found is None else list(found)


def _numbers(values: Sequence[Any]) -> np.ndarray[Any, Any] | None:
    """The finite numbers among the values; None where some are words."""
    try:
        found = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found[np.isfinite(found)]


def _range(values: np.ndarray[Any, Any], where: str) -> str:
    if not len(values):
        return ""
    low, high = values.min(), values.max()
    return f"{where} {low:.4g}" if low == high else f"{where} from {low:.4g} to {high:.4g}"


def _pairs(x: Sequence[Any], y: Sequence[Any]) -> str:
    shown = [f"{_word(a)} {_word(b)}" for a, b in list(zip(x, y, strict=False))[:MOST_PAIRS]]
    more = min(len(x), len(y)) - MOST_PAIRS
    return ", ".join(shown + ([f"and {more} more"] if more > 0 else []))


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else _words(value)
