"""Labels by parities of hidden blocks of k patterns: with structure in the inputs, and without."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.ranges import within
from ..maths.streams import stream
from .base import Sample, Task, orthonormal_columns, uniform


@final
@dataclass(frozen=True)
class ParityBlocks(Task):
    """x = M phi sqrt(d)/sigma, y = sign(sum_{j<=r} prod_{i in A_j} phi_i), phi in {-1, 0, +1}^D.

    M (d, D) has orthonormal columns, A_j = {(j-1)k + 1, ..., jk}, r and k odd. The law of phi is
    a mixture:

    - with probability p_uniform all entries of all blocks are uniform on {-1, +1};
    - with probability (1 - p_uniform)/(2r) each, block j is all +1 (y = +1) or all -1 (y = -1)
      and the other blocks are 0.

    Entries outside the blocks are +1 or -1 with probability p_o each, else 0, independent of all
    else. E phi = 0 and sigma^2 = E|phi|^2, so E x = 0 and E|x|^2 = d, as for N(0, I_d). In the
    second part y x has mean sum_{i in A_j} M_i: the planted direction. Without it (`uniform`) y is
    uncorrelated with every product of fewer than k entries.

    k odd makes "all -1" a block of parity -1; r odd makes the sum of r parities non-zero, so y is
    +1 or -1 with certainty.

    Raises ValueError when a parameter is outside its range, or k or r is even.
    Source: Shi23, section 4.2 (mixtures of parity functions); the length of x is ours.

    >>> task = ParityBlocks(d=30, D=20, k=3, r=3, p_uniform=0.5, p_o=0.1)
    >>> sample = task.sample(4, stream(0, "train"))
    >>> sample.X.shape, task.directions.shape
    (torch.Size([4, 30]), torch.Size([30, 3]))
    """

    #: d, D, k, r: inputs, patterns, size and number of blocks: r k <= D <= d, k and r odd.
    d: int
    D: int
    k: int
    r: int = 1
    p_uniform: float = 0.5  #: Probability of the uniform part, in [0, 1].
    p_o: float = 0.25  #: Probability of +1 and of -1 outside the blocks, in [0, 1/2].
    seed: int = 0  #: Chooses M.

    def __post_init__(self) -> None:
        if not (self.k > 0 and self.r > 0 and self.k % 2 and self.r % 2):
            raise ValueError(
                f"k, r are {self.k}, {self.r}: give odd numbers, else a label could be sign(0)"
                " or a block of -1 have parity +1."
            )
        if not self.r * self.k <= self.D <= self.d:
            raise ValueError(
                f"r k, D, d are {self.r * self.k}, {self.D}, {self.d}: r k <= D <= d is needed."
            )
        within(0, 1, p_uniform=self.p_uniform)
        within(0, 0.5, p_o=self.p_o)

    @classmethod
    def uniform(
        cls, d: int, D: int, k: int, r: int = 1, *, p_o: float = 0.25, seed: int = 0
    ) -> ParityBlocks:
        """The counterpart without structure: p_uniform = 1, no direction to be found for k >= 3."""
        return cls(d, D, k, r, 1.0, p_o, seed)

    @property
    def sigma(self) -> float:
        """sqrt(E|phi|^2): r k or k entries in the blocks, 2 p_o each outside."""
        inside = self.k * (1 + (self.r - 1) * self.p_uniform)
        return math.sqrt(inside + 2 * self.p_o * (self.D - self.r * self.k))

    @property
    def bayes_error(self) -> float:
        """0: x determines phi, and phi the label."""
        return 0.0

    @cached_property
    def dictionary(self) -> Float[Tensor, "d D"]:
        """M, orthonormal columns, the same for the same `d`, `D` and `seed`."""
        return orthonormal_columns(self.d, self.D, stream(self.seed, "dictionary"))

    @property
    def directions(self) -> Float[Tensor, "d r"]:
        """Column j is sum_{i in A_j} M_i / sqrt(k): the parity of block j is a function of it."""
        blocks = self.dictionary[:, : self.r * self.k].reshape(self.d, self.r, self.k)
        return blocks.sum(2) / math.sqrt(self.k)

    def patterns(self, n: int, generator: torch.Generator) -> Float[Tensor, "n D"]:
        """phi of n rows: part, block and sign, then uniform entries, then those outside."""
        part, block, sign = uniform(n, 3, generator).T
        signs = torch.where(uniform(n, self.r * self.k, generator) < 0.5, -1.0, 1.0).double()
        chosen = (block * self.r).long()[:, None] == torch.arange(self.r)
        planted = chosen * torch.where(sign < 0.5, -1.0, 1.0).double()[:, None]
        is_uniform = (part < self.p_uniform)[:, None]
        inside = torch.where(is_uniform, signs, planted.repeat_interleave(self.k, 1))
        outside = uniform(n, self.D - self.r * self.k, generator)
        ones = (outside < self.p_o).double() - (outside >= 1 - self.p_o).double()
        return torch.cat([inside, ones], 1)

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Tasks that differ in the probabilities share their draws."""
        phi = self.patterns(n, generator)
        blocks = phi[:, : self.r * self.k].reshape(n, self.r, self.k)
        y = blocks.prod(2).sum(1, keepdim=True).sign()
        return Sample(phi @ self.dictionary.T * (math.sqrt(self.d) / self.sigma), y)

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """The label: block sums are -k, -k+2, ..., k (parity (-1)^((k-s)/2)) or 0 (a zero block).

        Off the support each sum counts as the nearest of these values.
        """
        scale = self.sigma * math.sqrt(self.k / self.d)
        sums = X.double() @ self.directions.to(X.device) * scale
        s = torch.cat([torch.arange(-self.k, self.k + 1, 2), torch.zeros(1)]).double().sort().values
        parity = torch.where(s == 0, 0.0, 1 - 2 * ((self.k - s) / 2 % 2)).to(X.device)
        middles = ((s[1:] + s[:-1]) / 2).to(X.device)
        return parity[torch.bucketize(sums, middles)].sum(1, keepdim=True).sign().to(X.dtype)
