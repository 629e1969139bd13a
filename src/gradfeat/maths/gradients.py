"""The average gradient outer product (AGOP), whole or thin, its summary; other gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from .limits import BLOCK_BYTES, rows_per_block
from .linear_algebra import completed, leading_directions, upright


def autodiff_gradient(
    f: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"]
) -> Float[Tensor, "n c d"]:
    """Gradient of each output at each row, by reverse-mode differentiation.

    Rows must not interact inside `f` (no batch normalisation): output i may depend on row i only.

    >>> autodiff_gradient(lambda X: (X**2).sum(1), torch.tensor([[1.0, 3.0]])).tolist()
    [[[2.0, 6.0]]]
    """
    with torch.enable_grad():
        X = X.detach().requires_grad_(True)
        out = f(X)
        columns = out.reshape(len(X), -1).T
        rows = [torch.autograd.grad(c.sum(), X, retain_graph=True)[0] for c in columns]
    return torch.stack(rows, dim=1).detach()


def outer_product(
    J: Float[Tensor, "n c d"], weights: Float[Tensor, " n"], *, centre: bool = False
) -> Float[Tensor, "d d"]:
    """Weighted mean of J_i^T J_i, summed over outputs; `centre` subtracts the mean gradient."""
    return thin_products(J, weights, centre=centre).matrix()


def agop(
    gradient: Callable[[Tensor], Tensor],
    X: Float[Tensor, "n d"],
    *,
    weights: Float[Tensor, " n"] | None = None,
    centre: bool = False,
    bytes_per_row: int = 0,
    block_bytes: int = BLOCK_BYTES,
) -> Float[Tensor, "d d"]:
    """Average gradient outer product (1/n) sum_i grad f(x_i) grad f(x_i)^T, in row blocks.

    `gradient`, (n, d) -> (n, c, d), is ``predictor.gradient`` or ``lambda X: autodiff_gradient(f,
    X)`` for any callable f; outputs are summed. `centre` gives the covariance of the gradients
    instead of their second moment; `bytes_per_row` is the scratch of a row beyond its gradient.

    Source: Rad24, the AGOP of "Neural feature ansatz".

    >>> X, beta = torch.eye(2), torch.tensor([3.0, 4.0])
    >>> G = agop(lambda X: autodiff_gradient(lambda X: X @ beta, X), X)
    >>> G.round(decimals=4).tolist()
    [[9.0, 12.0], [12.0, 16.0]]
    """
    weights = X.new_ones(len(X)) if weights is None else weights
    d = X.shape[1]
    total, mean, mass = X.new_zeros(d, d), None, weights.sum()
    step = rows_per_block(max(bytes_per_row, 4 * d * X.element_size()), block_bytes)
    for rows, w in zip(X.split(step), weights.split(step), strict=True):
        J = gradient(rows)
        total += outer_product(J, w) * (w.sum() / mass)
        block_mean = torch.einsum("n,ncd->cd", w / mass, J)
        mean = block_mean if mean is None else mean + block_mean
    if centre and mean is not None:
        total -= mean.T @ mean
    return (total + total.T) / 2


#: Above this share of exact zeros among inputs that matter, a function is flat between jumps.
MOSTLY_ZERO = 0.9

#: Changes below this share of the function's size are rounding in float64.
ROUNDING = 1e-12


def central_gradient(
    f: Callable[[Tensor], Tensor],
    X: Float[Tensor, "n d"],
    steps: Float[Tensor, " d"],
    batch_size: int,
) -> Float[Tensor, "n c d"]:
    """(f(x + h_j e_j) - f(x - h_j e_j)) / (2 h_j) at each row; 0 where h_j is 0.

    Divides by the distance between the two points as rounded, so that a short step in a column of
    large values costs no accuracy. f, (p, d) -> (p, c), gets at most `batch_size` rows a call (two
    at least); steps are in the units of their columns, at least one positive.
    """
    moving = steps.nonzero().flatten()
    at_once = max(1, batch_size // (2 * len(moving)))
    return torch.cat([_block(f, rows, moving, steps, batch_size) for rows in X.split(at_once)])


def _block(
    f: Callable[[Tensor], Tensor], X: Tensor, moving: Tensor, steps: Tensor, batch_size: int
) -> Tensor:
    at_once = max(1, batch_size // (2 * len(X)))
    slopes = torch.cat([_slopes(f, X, j, steps[j]) for j in moving.split(at_once)], dim=2)
    J = X.new_zeros(len(X), slopes.shape[1], X.shape[1])
    J[:, :, moving] = slopes
    return J


def _slopes(f: Callable[[Tensor], Tensor], X: Tensor, columns: Tensor, h: Tensor) -> Tensor:
    """Derivatives (n, c, a) along `columns` (a,), by one call of f."""
    a = len(columns)
    each = torch.arange(a, device=X.device)
    ahead, behind = X.repeat(a, 1, 1), X.repeat(a, 1, 1)
    ahead[each, :, columns] += h[:, None]
    behind[each, :, columns] -= h[:, None]
    width = ahead[each, :, columns] - behind[each, :, columns]
    out = f(torch.cat([ahead, behind]).flatten(0, 1)).reshape(2, a, len(X), -1)
    return ((out[0] - out[1]) / width[..., None]).permute(1, 2, 0)


def has_jumps(
    f: Callable[[Tensor], Tensor],
    X: Float[Tensor, "n d"],
    steps: Float[Tensor, " d"],
    batch_size: int,
) -> bool:
    """Do derivatives by these steps say nothing about f, because f is flat between jumps?

    Either almost all are exactly zero, or their mean square is more than twice that at steps four
    times as long: it is the same for a smooth f and four times as large where f jumps, because a
    jump of size s met with probability in proportion to h gives s/(2h).

    >>> X, h = torch.linspace(-1, 1, 50).double()[:, None], torch.tensor([1e-3]).double()
    >>> has_jumps(lambda X: (5 * X).round(), X, h, 100), has_jumps(torch.sin, X, h, 100)
    (True, False)
    """
    out = torch.cat([f(rows) for rows in X.split(batch_size)])
    rounding = ROUNDING * out.abs().max()
    near, far = (central_gradient(f, X, k * steps, batch_size) * steps for k in (1, 4))
    matters = (near != 0).any(0)
    if not matters.any():
        return bool((out.amax(0) - out.amin(0) > rounding).any())
    change = near[:, matters]
    if (change == 0).double().mean() > MOSTLY_ZERO:
        return True
    noise = change.square().mean().sqrt() <= rounding
    return bool(~noise & (near.square().sum() > 2 * far.square().sum()))


class OuterProducts(ABC):
    """M (d, d), symmetric and positive semi-definite."""

    @abstractmethod
    def matrix(self) -> Float[Tensor, "d d"]:
        """All of M, formed where it is kept as a factor."""

    @abstractmethod
    def diagonal(self) -> Float[Tensor, " d"]:
        """The diagonal of M, without the rest."""

    @abstractmethod
    def turned(self, turn: Callable[[Tensor], Tensor]) -> OuterProducts:
        """A M A, where `turn` multiplies rows by the symmetric matrix A."""

    @abstractmethod
    def spectrum(self) -> tuple[Float[Tensor, " d"], Float[Tensor, "d k"]]:
        """All eigenvalues, decreasing, and the vectors of those that M can have above zero."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """The numbers that it is kept as, by name (for saving)."""


@final
@dataclass(frozen=True, eq=False)
class Whole(OuterProducts):
    agop: Float[Tensor, "d d"]

    def matrix(self) -> Float[Tensor, "d d"]:
        return self.agop

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.agop.diagonal()

    def turned(self, turn: Callable[[Tensor], Tensor]) -> Whole:
        return Whole(turn(turn(self.agop).T))

    def spectrum(self) -> tuple[Float[Tensor, " d"], Float[Tensor, "d k"]]:
        return leading_directions(self.agop)

    def tensors(self) -> dict[str, Tensor]:
        return {"agop": self.agop}


@final
@dataclass(frozen=True, eq=False)
class Thin(OuterProducts):
    """M = F^T F with F (k, d), k < d: nothing of it costs d^3."""

    agop_factor: Float[Tensor, "k d"]

    def matrix(self) -> Float[Tensor, "d d"]:
        return self.agop_factor.T @ self.agop_factor

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.agop_factor.square().sum(0)

    def turned(self, turn: Callable[[Tensor], Tensor]) -> Thin:
        return Thin(turn(self.agop_factor))

    def spectrum(self) -> tuple[Float[Tensor, " d"], Float[Tensor, "d k"]]:
        d, (found, V) = self.agop_factor.shape[1], outer_spectrum(self.agop_factor)
        values = found.new_zeros(d)
        values[: len(found)] = found
        return values, V

    def tensors(self) -> dict[str, Tensor]:
        return {"agop_factor": self.agop_factor}


def outer_spectrum(F: Float[Tensor, "m d"]) -> tuple[Float[Tensor, " k"], Float[Tensor, "d k"]]:
    """The k = min(m, d) eigenvalues of F^T F, decreasing, and their vectors."""
    if len(F) >= F.shape[1]:
        return leading_directions(F.T @ F)
    _, s, Vh = torch.linalg.svd(F, full_matrices=False)
    return s.square(), upright(Vh.T)


def outer_products(held: Mapping[str, Tensor]) -> OuterProducts:
    """What :meth:`OuterProducts.tensors` gave, among other numbers."""
    factor = held.get("agop_factor")
    return Whole(held["agop"]) if factor is None else Thin(factor)


def mean_outer_products(
    gradient: Callable[[Tensor], Tensor],
    X: Float[Tensor, "n d"],
    weights: Float[Tensor, " n"],
    outputs: int,
    bytes_per_row: int,
) -> OuterProducts:
    """The AGOP over the rows of X, a factor where there are fewer gradients (n c) than columns."""
    n, d = X.shape
    if n * outputs >= d:
        return Whole(agop(gradient, X, weights=weights, bytes_per_row=bytes_per_row).double().cpu())
    step = rows_per_block(max(bytes_per_row, 4 * d * X.element_size()), BLOCK_BYTES)
    J = torch.cat([gradient(rows).double().cpu() for rows in X.split(step)])
    return thin_products(J, weights.to(J))


def thin_products(
    J: Float[Tensor, "n c d"], weights: Float[Tensor, " n"], *, centre: bool = False
) -> Thin:
    """The factor of :func:`gradfeat.maths.gradients.outer_product`."""
    p = weights / weights.sum()
    if centre:
        J = J - torch.einsum("n,ncd->cd", p, J)
    return Thin((J * p.sqrt()[:, None, None]).flatten(0, 1))


#: Share of the AGOP's trace that the effective directions carry together.
EFFECTIVE_SHARE = 0.95


def effective_number(eigenvalues: NDArray[np.float64]) -> int:
    """Least number of eigenvalues that carry 95 % of the sum; 0 for a zero spectrum."""
    total = float(eigenvalues.sum())
    if not total > 0:
        return 0
    return int(np.searchsorted(np.cumsum(eigenvalues) / total, EFFECTIVE_SHARE)) + 1


class AGOPSummary:
    """The AGOP of a predictor over a sample of rows, its directions and shares.

    Nothing is computed before it is asked for, and then once. The rows are let go of with it, and
    are in no copy, pickle or file: what goes there is the AGOP.

    Examples
    --------
    >>> summary = AGOPSummary.of_arrays({"agop": np.diag([1.0, 3.0])})
    >>> summary.importances.tolist(), summary.n_effective
    ([0.25, 0.75], 2)
    """

    def __init__(self, compute: Callable[[], OuterProducts]) -> None:
        self._compute = compute

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> AGOPSummary:
        """From what :meth:`arrays` gave, among other arrays."""
        names = [name for name in ("agop", "agop_factor") if name in arrays]
        return cls.of(outer_products({name: torch.as_tensor(arrays[name]) for name in names}))

    @classmethod
    def of(cls, products: OuterProducts) -> AGOPSummary:
        """Of an AGOP that is known."""
        return cls(lambda: products)

    def __reduce__(self) -> tuple[Any, ...]:
        return AGOPSummary.of, (self.products,)

    @cached_property
    def products(self) -> OuterProducts:
        """The AGOP, as thin as it is."""
        found = self._compute()
        self._compute = lambda: found  # what it was computed from is let go
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: t.numpy() for name, t in self.products.tensors().items()}

    @cached_property
    def spectrum(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues (d,), decreasing, and vectors (d, k) of those that may be above zero."""
        return self.products.spectrum()

    @property
    def root(self) -> Tensor:
        """A with A^2 the AGOP: (d, d), V diag(s) (d, k) of fewer directions, or ones of a zero one.

        As :func:`gradfeat.models.predictors.apply_metric` takes it.
        """
        e, V = self.spectrum
        if not e[0] > 0:
            return torch.ones(len(e), dtype=e.dtype)
        thin = V * e[: V.shape[1]].clamp(min=0).sqrt()
        return thin if V.shape[1] < len(e) else thin @ V.T

    @property
    def importances(self) -> NDArray[np.float64]:
        """Share (d,) of the trace on each input; zeros for a constant function."""
        diagonal = self.products.diagonal()
        total = float(diagonal.sum())
        return (diagonal / (total if total > 0 else 1.0)).numpy()

    @property
    def n_effective(self) -> int:
        """Least number of directions with `EFFECTIVE_SHARE` of the trace; 0 of a zero AGOP."""
        return effective_number(self.spectrum[0].numpy())

    def directions(self, r: int) -> NDArray[np.float64]:
        return completed(self.spectrum[1], r).numpy()
