"""Numbers as they are kept: a hash of their bits, a few of them, and sums with fixed signs."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Largest deviation that a bound allows, relative to the largest number of the entry.
BOUNDS = {"bits": 0.0, "1e-12": 1e-12, "1e-9": 1e-9, "1e-6": 1e-6}

#: Numbers of an entry that are kept one by one, and sums of all of them.
SINGLE, SUMS = 3, 3


def numbers(value: Any) -> np.ndarray | None:
    """Numbers as float64 array; None for words and truth values."""
    array = np.asarray(value)
    if array.dtype.kind == "O" and array.ndim:
        parts = [numbers(part) for part in array.ravel()]
        if any(part is None for part in parts):
            return None
        return np.concatenate([part.ravel() for part in parts if part is not None])
    if array.dtype.kind in "iuf":
        return np.ascontiguousarray(array, dtype=np.float64)
    return None


def short(values: np.ndarray | list[float]) -> list[float]:
    """Fourteen digits of each."""
    return [float(f"{value:.14g}") for value in values]


def entry(value: Any, bound: str) -> dict[str, Any]:
    """What is kept of a value.

    Numbers: ``shape``, ``bits`` (hash), ``size`` (the largest), ``gaps`` (how many are nan, if
    any), ``some`` (a few of them), ``sums`` (three sums with random signs, over the root of their
    number: a difference anywhere shows in them). Anything else: ``words``, compared as text.
    """
    array = numbers(value)
    if array is None:
        return {"bound": "bits", "words": str(np.asarray(value).tolist())[:400]}
    bits = hashlib.sha256(array.tobytes()).hexdigest()[:12]
    flat = np.where(np.isfinite(array), array, 0.0).ravel()
    about = {"bound": bound, "shape": list(array.shape), "bits": bits}
    if gaps := int(np.isnan(array).sum()):
        about["gaps"] = gaps
    if flat.size <= SINGLE + SUMS:
        return {**about, "some": short(flat)}
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (SUMS, flat.size))
    return {
        **about,
        "size": float(f"{np.abs(flat).max():.3g}"),
        "some": short(flat[:: flat.size // SINGLE][:SINGLE]),
        "sums": short([math.fsum(row) / math.sqrt(flat.size) for row in signs * flat]),
    }


@dataclass(frozen=True)
class Compared:
    """One entry of the present tree beside the one that was kept."""

    name: str
    bound: str
    deviation: float
    same_bits: bool
    remark: str = ""

    @property
    def ok(self) -> bool:
        """Whether the deviation is within the bound."""
        return self.same_bits if self.bound == "bits" else self.deviation <= BOUNDS[self.bound]


def _of_those_told(kept: Any, now: Any) -> Any:
    """Settings now, of those alone that were told: a penalty that a head found is new beside them.

    >>> _of_those_told('{"whiten": true}, 3 parts', '{"alpha": 2, "whiten": true}, 3 parts')
    '{"whiten": true}, 3 parts'
    """
    try:
        (known, _), (told, end) = (json.JSONDecoder().raw_decode(words) for words in (kept, now))
    except (TypeError, json.JSONDecodeError):  # a failed fit, or one whose text was cut
        return now
    same = {name: value for name, value in told.items() if name in known}
    return json.dumps(same, sort_keys=True) + now[end:]


def compared(name: str, kept: dict[str, Any], now: dict[str, Any] | None) -> Compared:
    """How far an entry is from the one that was kept."""
    bound = kept["bound"]
    if now is None:
        return Compared(name, bound, math.inf, False, "missing")
    if "words" in kept or "words" in now:
        words = kept.get("words"), now.get("words")
        if name.endswith("/settings"):
            words = words[0], _of_those_told(*words)
        same = words[0] == words[1]
        told = "" if same else f"{kept.get('words')} -> {now.get('words')}"
        return Compared(name, "bits", 0.0 if same else math.inf, same, told)
    for key in ("shape", "gaps"):
        if kept.get(key, 0) != now.get(key, 0):
            told = f"{key} {kept.get(key, 0)} -> {now.get(key, 0)}"
            return Compared(name, bound, math.inf, False, told)
    one = np.array(kept["some"] + kept.get("sums", []))
    other = np.array(now["some"] + now.get("sums", []))
    size = kept.get("size", float(np.abs(one).max(initial=0.0))) or 1.0
    gap = float(np.abs(one - other).max(initial=0.0)) / size
    return Compared(name, bound, gap, kept["bits"] == now["bits"])
