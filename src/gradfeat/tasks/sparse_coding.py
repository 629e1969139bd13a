"""Sparse coding: labels that depend on how many of k hidden patterns are present."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from scipy import special
from torch import Tensor

from ..maths.ranges import at_least, within
from ..maths.streams import stream
from .base import Sample, Task, orthonormal_columns, uniform


@final
@dataclass(frozen=True)
class SparseCoding(Task):
    """x = (M phi - E)/sigma~, y = +1 if s = sum_{i in A} phi_i is in P, else -1.

    M (d, D) has orthonormal columns and phi in {0, 1}^D; A is the first k patterns. Given s, the
    patterns in A are a uniform choice of s of the k; those outside are Bernoulli(p_o),
    independent of all else. E = E M phi and sigma~^2 = sum_i Var phi_i, so E x = 0, E|x|^2 = 1.

    Raises ValueError when a parameter is outside its range, or x would be constant.
    Source: Shi22, section 3 (families F_Xi with structure, F_Xi0 without).

    >>> task = SparseCoding.hard(d=20, D=10, k=3, p_o=0.5)
    >>> sample = task.sample(4, stream(0, "train"))
    >>> sample.X.shape, task.gamma, task.bayes_error
    (torch.Size([4, 20]), 0.25, 0.0)
    """

    #: d, D, k: inputs, patterns, relevant patterns: 1 <= k <= D <= d.
    d: int
    D: int
    k: int
    P: tuple[int, ...]  #: The counts in {0, ..., k} with label +1.
    counts: tuple[float, ...]  #: Pr[s = 0], ..., Pr[s = k].
    p_o: float = 0.5  #: Probability of each pattern outside A, in [0, 1].
    flip: float = 0.0  #: Probability that a label is turned over, in [0, 1/2].
    seed: int = 0  #: Chooses M.

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.D <= self.d:
            raise ValueError(
                f"k, D, d are {self.k}, {self.D}, {self.d}: 1 <= k <= D <= d is needed."
            )
        if not set(self.P) <= set(range(self.k + 1)) or len(set(self.P)) != len(self.P):
            raise ValueError(f"P is {self.P}: give different counts from 0 to k = {self.k}.")
        law = math.isclose(sum(self.counts), 1, abs_tol=1e-9)
        if len(self.counts) != self.k + 1 or not (law and all(0 <= p <= 1 for p in self.counts)):
            raise ValueError(
                f"counts are {self.counts}: give {self.k + 1} probabilities that add to 1."
            )
        within(0, 1, p_o=self.p_o)
        within(0, 0.5, flip=self.flip)
        if self.sigma == 0:
            raise ValueError("every pattern is constant: give p_o or counts that vary.")

    @classmethod
    def hard(
        cls, d: int, D: int, k: int, p_o: float = 0.5, *, flip: float = 0.0, seed: int = 0
    ) -> SparseCoding:
        """The hard instance: parity with weight p_o, all ones (+1) or all zeros (-1) otherwise.

        With weight p_o, phi_A is uniform on {0, 1}^k; with weight (1 - p_o)/2 each it is all ones
        or all zeros. P holds the odd counts; gamma = (1 - p_o)/2 for odd k.

        Raises ValueError when k is even (all ones would have label -1), or p_o is no probability.
        """
        within(0, 1, p_o=p_o)
        at_least(1, k=k)
        if k % 2 == 0:
            raise ValueError(f"k is {k}: the hard instance needs an odd number of patterns.")
        counts = p_o * np.array(_binomial(k))
        counts[[0, k]] += (1 - p_o) / 2
        return cls(d, D, k, _odd(k), tuple(counts.tolist()), p_o, flip, seed)

    @classmethod
    def parity(
        cls, d: int, D: int, k: int, p_o: float = 0.5, *, flip: float = 0.0, seed: int = 0
    ) -> SparseCoding:
        """Uniform patterns, label +1 at odd counts: no structure (gamma = 0) for k >= 2."""
        return cls(d, D, k, _odd(k), _binomial(k), p_o, flip, seed)

    @classmethod
    def majority(
        cls, d: int, D: int, k: int, p_o: float = 0.5, *, flip: float = 0.0, seed: int = 0
    ) -> SparseCoding:
        """Uniform patterns, label +1 where more than half of A is present."""
        P = tuple(s for s in range(k + 1) if s > k / 2)
        return cls(d, D, k, P, _binomial(k), p_o, flip, seed)

    @property
    def labels(self) -> Float[np.ndarray, " k"]:
        """The label of each count 0, ..., k, before any is turned over."""
        return np.where(np.isin(np.arange(self.k + 1), self.P), 1.0, -1.0)

    @property
    def means(self) -> Float[np.ndarray, " D"]:
        """E phi_i of each pattern."""
        inside = float(np.dot(self.counts, np.arange(self.k + 1))) / self.k
        return np.r_[np.full(self.k, inside), np.full(self.D - self.k, self.p_o)]

    @property
    def sigma(self) -> float:
        """sigma~ = sqrt(sum_i Var phi_i), the scale of x."""
        return math.sqrt(float((self.means * (1 - self.means)).sum()))

    @property
    def gamma(self) -> float:
        """gamma = E[y phi_i] - E[y] E[phi_i], the same for every i in A."""
        centred = np.arange(self.k + 1) / self.k - self.means[0]
        return (1 - 2 * self.flip) * float(np.dot(self.counts, self.labels * centred))

    @property
    def balance(self) -> float:
        """Pr[y = +1]."""
        plus = float(np.dot(self.counts, self.labels > 0))
        return plus + self.flip * (1 - 2 * plus)

    @property
    def structured(self) -> bool:
        """Whether (A0) Pr[y = 1] = 1/2, (A1) gamma > 0 and (A2) p_o <= 1/2 hold."""
        balanced = math.isclose(self.balance, 0.5, abs_tol=1e-9)
        return balanced and self.gamma > 1e-9 and self.p_o <= 0.5

    @property
    def bayes_error(self) -> float:
        """`flip`: x determines the patterns, and they the label."""
        return self.flip

    @cached_property
    def dictionary(self) -> Float[Tensor, "d D"]:
        """M, orthonormal columns, the same for the same `d`, `D` and `seed`."""
        return orthonormal_columns(self.d, self.D, stream(self.seed, "dictionary"))

    @property
    def directions(self) -> Float[Tensor, "d 1"]:
        """sum_{i in A} M_i / sqrt(k): s is a function of its product with x."""
        return self.dictionary[:, : self.k].sum(1, keepdim=True) / math.sqrt(self.k)

    def patterns(self, n: int, generator: torch.Generator) -> Float[Tensor, "n D"]:
        """phi of n rows: the count, which of A are present, then the patterns outside."""
        edges = torch.tensor(np.cumsum(self.counts)[:-1])
        counts = torch.bucketize(uniform(n, 1, generator), edges, right=True)
        ranks = uniform(n, self.k, generator).argsort(1).argsort(1)
        outside = uniform(n, self.D - self.k, generator) < self.p_o
        return torch.cat([ranks < counts, outside], 1).double()

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Patterns first, then turned labels: tasks that differ in `flip` share their inputs."""
        phi = self.patterns(n, generator)
        labels = torch.tensor(self.labels)[phi[:, : self.k].sum(1).long()]
        turned = uniform(n, 1, generator)[:, 0] < self.flip
        y = torch.where(turned, -labels, labels)
        X = ((phi - torch.tensor(self.means)) / self.sigma) @ self.dictionary.T
        return Sample(X, y[:, None])

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """(1 - 2 flip) times the label of the count nearest to the one that x encodes."""
        U = self.directions.to(X.device)
        centre = self.k * float(self.means[0])
        counts = (X.double() @ U) * self.sigma * math.sqrt(self.k) + centre
        nearest = counts.round().long().clamp(0, self.k)
        labels = torch.tensor(self.labels, device=X.device)
        return ((1 - 2 * self.flip) * labels[nearest]).to(X.dtype)


def _binomial(k: int) -> tuple[float, ...]:
    """Pr[s] of k fair coins."""
    return tuple((special.binom(k, np.arange(k + 1)) / 2.0**k).tolist())


def _odd(k: int) -> tuple[int, ...]:
    return tuple(range(1, k + 1, 2))
