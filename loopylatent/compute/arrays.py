"""Array types, frozen arrays and the signature of progress reports, defined once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
