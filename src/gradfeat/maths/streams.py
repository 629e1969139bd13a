"""Named random streams: the same numbers whatever else was drawn, on every device.

Among them the shuffles and signs of targets as they would be if the inputs said nothing; and hashes
of values, which are as good as random numbers that do not depend on the order of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor


def _seed_of(seed: int, name: str) -> int:
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def stream(seed: int, name: str) -> torch.Generator:
    """CPU generator number (`seed`, `name`), independent of every other name.

    Draw on the CPU, then move: the numbers are the same on every device.

    >>> a, b = (torch.rand(2, generator=stream(0, "W0")) for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    return torch.Generator("cpu").manual_seed(_seed_of(seed, name))


def numpy_stream(seed: int, name: str) -> np.random.Generator:
    """Return the NumPy counterpart of :func:`stream` (its own numbers, same independence)."""
    return np.random.default_rng(_seed_of(seed, name))


@dataclass(frozen=True)
class NullDraws:
    """The same shuffles and signs for every degree and output.

    Shuffling is exact where y is independent of x, but it also breaks the tie between the size of
    y and x: where y^2 depends on x (as for y = He_4(u.x)) the true estimates spread wider than the
    shuffled ones. Random signs keep y_i^2 at x_i and so have the right spread there; they are
    exact where y is symmetric given x, else as n grows. A finding has to pass both.

    Source: Fisher 1935 (shuffles); Wu 1986, Liu 1988 (signs: the wild bootstrap).
    """

    orders: Int[Tensor, "n draws"]  # which row stands in the place of each: rows exchanged
    signs: Float[Tensor, "n draws"]  # +1 or -1

    def shuffled(self, r: Float[Tensor, " n"]) -> Float[Tensor, "n draws"]:
        return r[self.orders]

    def flipped(self, r: Float[Tensor, " n"]) -> Float[Tensor, "n draws"]:
        return r[:, None] * self.signs


def null_draws(n: int, draws: int, seed: int) -> NullDraws:
    order, sign = stream(seed, "shuffles"), stream(seed, "signs")
    orders = torch.stack([torch.randperm(n, generator=order) for _ in range(draws)], dim=1)
    return NullDraws(orders, _signs(n, draws, sign))


def _signs(n: int, draws: int, generator: torch.Generator) -> Float[Tensor, "n draws"]:
    return torch.randint(0, 2, (n, draws), generator=generator, dtype=torch.float64) * 2 - 1


def unit_draws(
    units: NDArray[np.intp], time: NDArray[np.float64] | None, draws: int, seed: int
) -> NullDraws:
    """Of rows that depend on each other within `units` (n,) 0, 1, ...: one sign for each.

    In place of shuffles whole units of like size (within a factor of two) change places, their
    rows turned round; rows in order of `time` (n,) are all moved along by so many places, the last
    ones to the beginning. Either keeps how rows of y depend on each other.

    Source: Winkler et al. 2015 (exchangeable blocks); Cameron, Gelbach & Miller 2008 (signs of
    clusters); Kugiumtzis 2002 (shifts in time).
    """
    order, sign = stream(seed, "shuffles"), stream(seed, "signs")
    unit = torch.as_tensor(units)
    orders = _exchanged(unit, draws, order) if time is None else _moved(time, draws, order)
    return NullDraws(orders, _signs(int(unit.max()) + 1, draws, sign)[unit])


def _moved(
    time: NDArray[np.float64], draws: int, generator: torch.Generator
) -> Int[Tensor, "n draws"]:
    along = torch.as_tensor(np.argsort(time, kind="stable"))
    places = along.argsort()[:, None] + torch.randint(1, len(time), (draws,), generator=generator)
    return along[places % len(time)]


def _exchanged(
    unit: Int[Tensor, " n"], draws: int, generator: torch.Generator
) -> Int[Tensor, "n draws"]:
    size = unit.bincount()
    by_unit = unit.argsort(stable=True)
    start = size.cumsum(0) - size
    place = by_unit.argsort() - start[unit]
    other = torch.empty(len(size), draws, dtype=torch.long)
    like = size.double().log2().floor()
    for one in like.unique():
        mine = (like == one).nonzero()[:, 0]
        other[mine] = mine[torch.rand(len(mine), draws, generator=generator).argsort(0)]
    turned = (torch.rand(len(size), draws, generator=generator) * size[other]).long()
    came = other[unit]
    return by_unit[start[came] + (place[:, None] + turned[unit]) % size[came]]


def p_value(observed: float, null: Float[Tensor, " draws"]) -> float:
    """(1 + number of draws at least as large) / (1 + draws)."""
    return float(1 + (null >= observed).sum()) / (1 + len(null))


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def mixed(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of splitmix64: every bit of the result depends on every bit of `h`.

    Source: Steele, Lea & Flood 2014.
    """
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def started(n: int, seed: int) -> NDArray[np.uint64]:
    """Hashes of n rows before any of their values."""
    return mixed(np.full(n, np.uint64(seed), dtype=np.uint64) + _MULTIPLIER)


def with_bits(h: NDArray[np.uint64], bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`h` with one more column mixed in, given as 64 bits a row."""
    return mixed(h * _MULTIPLIER + bits)


def copies_apart(h: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hashes (n,) of 63 bits, with another one for each further row of the same hash.

    >>> copies_apart(np.array([7, 3, 7]))[:2].tolist()
    [7, 3]
    """
    order = np.argsort(h, kind="stable")
    key = h[order].astype(np.uint64)
    copy = (np.arange(len(h)) - np.searchsorted(key, key)).astype(np.uint64)
    found = np.empty_like(h)
    found[order] = np.where(copy > 0, with_bits(key, copy) >> np.uint64(1), key)
    return found


def column_hash(values: NDArray[np.float64], h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`h` with one more column of values (n,) mixed in; 0.0 and -0.0 are the same value."""
    return with_bits(h, np.ascontiguousarray(values + 0.0).view(np.uint64))


#: Steps whose inputs are drawn at once.
CHUNK = 100


def online_inputs(draws: list[np.random.Generator], steps: int, d: int) -> Iterator[np.ndarray]:
    """Standard normal inputs (networks, d) of each step: a fresh row for each generator."""
    for first in range(0, steps, CHUNK):
        n = min(CHUNK, steps - first)
        yield from np.stack([draw.normal(size=(n, d)) for draw in draws], 1)
