"""The device that a name means, for estimators, comparisons and the lab: no scikit-learn here."""

from __future__ import annotations

from typing import Any

import torch


def usable_device(name: Any, *, here: bool = True) -> torch.device:
    """The torch device of that name; ValueError where nothing is computed on one (that is `here`).

    >>> usable_device("cpu")
    device(type='cpu')
    """
    try:
        where = torch.device(name)
    except (RuntimeError, TypeError, ValueError):
        raise ValueError(f"device is {name!r}: give a torch device such as 'cpu'.") from None
    if here and where.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {name!r} and no CUDA device is here: use device='cpu'.")
    try:
        torch.zeros(1, device=where if here or where.type == "meta" else "cpu").item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError):
        raise ValueError(f"device is {name!r}, which computes nothing: use device='cpu'.") from None
    return where
