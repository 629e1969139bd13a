"""Values that strict JSON can hold."""

from __future__ import annotations

import json
from typing import Any


def finite(value: Any) -> Any:
    """Dictionaries, lists, arrays and numbers as JSON's own; what is not finite is None.

    Examples
    --------
    >>> import numpy as np
    >>> finite({"a": np.array([1.0, np.nan]), "b": (np.float32(0.5), np.int64(2), -np.inf)})
    {'a': [1.0, None], 'b': [0.5, 2, None]}
    """
    text = json.dumps(value, default=lambda array: array.tolist())
    return json.loads(text, parse_constant=lambda _: None)
