"""Values that strict JSON can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def finite(value: Any) -> Any:
    """Dictionaries, lists, arrays and numbers as JSON's own; what is not finite is None.

    Examples
    --------
    >>> finite({"a": np.array([1.0, np.nan])})
    {'a': [1.0, None]}
    """
    match value:
        case dict():
            return {name: finite(part) for name, part in value.items()}
        case list() | tuple():
            return [finite(part) for part in value]
        case np.ndarray() | np.generic():
            return finite(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value
