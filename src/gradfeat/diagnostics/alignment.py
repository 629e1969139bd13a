"""How close neurons, and their gradients, are to given directions, and how many these cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


def cosines(W: Float[Tensor, "m d"], directions: Float[Tensor, "d r"]) -> Float[Tensor, "m r"]:
    """|<w_i, u_j>| / (|w_i| |u_j|) for every neuron and direction; 0 where one of them is zero.

    `W`: neurons, one a row; `directions`: one a column, of any length.
    Raises ValueError when the inputs have different dimensions d.

    >>> W = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> cosines(W, torch.eye(2)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    check_dimensions(W, directions)
    return (unit_rows(W) @ unit_rows(directions.T).T).abs().clamp(max=1)


def unit_rows(W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    """Rows divided by their norms, also tiny and huge ones; a zero row stays zero.

    >>> unit_rows(torch.tensor([[0.0, 1e-300], [0.0, 0.0]], dtype=torch.float64)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    largest = W.abs().amax(1, keepdim=True)
    scaled = W / largest.where(largest > 0, 1.0)
    return scaled / torch.linalg.vector_norm(scaled, dim=1, keepdim=True).clamp(min=1)


def check_dimensions(W: Tensor, directions: Tensor) -> None:
    """W (m, d) and directions (d, r) of one d; else ValueError."""
    if W.ndim != 2 or directions.ndim != 2 or W.shape[1] != len(directions):
        raise ValueError(
            f"W has shape {tuple(W.shape)} and the directions {tuple(directions.shape)}: give "
            "(m, d) and (d, r) with the same d."
        )


def coverage(
    G: Float[Tensor, "m d"],
    b: Float[Tensor, " m"],
    directions: Float[Tensor, "d q"],
    *,
    widths: Sequence[float],
    norms: Sequence[float],
) -> Float[Tensor, "q 2 widths norms"]:
    """Mass of (D, s): share of neurons with |<G, D>| > (1 - g)|G|, |G| >= B_G and s = sign b.

    (D, s) is in S_{p,g,B_G} where the mass is at least p: compare the result with any p.

    `G`, `b`: simplified gradients and biases; `directions`: columns of any length above 0;
    `widths`, `norms`: values of g in (0, 1) and of B_G >= 0.
    On axis 1 of the masses: s = +1 (b >= 0), then s = -1.
    Raises ValueError when shapes do not fit, a direction is 0, or a number is outside its range.
    Source: Shi23, the gradient feature set.

    >>> G, b = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, -1.0])
    >>> coverage(G, b, torch.eye(2), widths=[0.1], norms=[0.5, 1.5])[:, :, 0].tolist()
    [[[0.5, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]]
    """
    _check(G, b, directions, widths, norms)
    lengths = G.norm(dim=1)
    along = (G @ (directions / directions.norm(dim=0)).to(G)).abs()
    signs = torch.stack([b >= 0, b < 0]).to(G)
    long = torch.stack([lengths >= norm for norm in norms], dim=1).to(G)
    inside = [((along > (1 - g) * lengths[:, None]).to(G)) for g in widths]
    masses = [torch.einsum("mq,sm,mn->qsn", part, signs, long) for part in inside]
    return torch.stack(masses, dim=2) / len(G)


def _check(
    G: Tensor, b: Tensor, D: Tensor, widths: Sequence[float], norms: Sequence[float]
) -> None:
    """Shapes, directions with a length, and ranges."""
    if not (G.ndim == D.ndim == 2 and len(G) and b.shape == G.shape[:1] and len(D) == G.shape[1]):
        raise ValueError(
            f"G, b and directions have shapes {tuple(G.shape)}, {tuple(b.shape)} and "
            f"{tuple(D.shape)}: give (m, d), (m,) and (d, q) with at least one neuron."
        )
    if not bool((D.norm(dim=0) > 0).all()):
        raise ValueError("a direction is 0 or not finite: give columns of a length above 0.")
    if not (widths and norms and all(0 < g < 1 for g in widths) and min(norms) >= 0):
        raise ValueError(
            f"widths are {list(widths)} and norms {list(norms)}: give at least one of each, widths "
            "between 0 and 1, norms not negative."
        )


@dataclass(frozen=True, eq=False)
class PatternSignal:
    """T (m, D) and its sizes in A and outside, one value a neuron; a neuron with a = 0 has nan."""

    T: Tensor  #: (m, D), T_ij = <g_i, M_j>/a_i.
    inside: Tensor  #: (m,), mean_{j in A} |T_ij|.
    outside: Tensor  #: (m,), (mean_{j not in A} T_ij^2)^{1/2}.

    @property
    def ratio(self) -> Tensor:
        """inside/outside (m,): the signal-to-noise ratio; inf without noise."""
        return self.inside / self.outside

    @property
    def median_ratio(self) -> float:
        """Median of `ratio` over neurons that have one; nan if none has."""
        return float(self.ratio.nanmedian())


def pattern_signal(
    G: Float[Tensor, "m d"], a: Float[Tensor, " m"], M: Float[Tensor, "d D"], A: Sequence[int]
) -> PatternSignal:
    """T = (G M)/a, from G = -dL/dW: dL/dw_i = -a_i sum_j M_j T_ij (M orthonormal).

    `G`: minus the gradient of the loss with respect to the first layer; `a`: head; `M`: dictionary,
    orthonormal columns; `A`: indices of the patterns that decide the label, neither empty nor all.
    Raises ValueError when shapes do not fit or A is not a proper subset of the D patterns.
    Source: Shi22, Section 4 and Lemmas 5, 6.

    >>> M = torch.eye(3)
    >>> signal = pattern_signal(torch.tensor([[4.0, 2.0, -2.0]]), torch.tensor([2.0]), M, [0])
    >>> signal.T.tolist(), signal.ratio.tolist()
    ([[2.0, 1.0, -1.0]], [2.0])
    """
    if G.ndim != 2 or a.shape != G.shape[:1] or M.ndim != 2 or len(M) != G.shape[1]:
        raise ValueError(
            f"G, a and M have shapes {tuple(G.shape)}, {tuple(a.shape)} and {tuple(M.shape)}: "
            "give (m, d), (m,) and (d, D)."
        )
    D = M.shape[1]
    if not set(A) < set(range(D)) or not len(A):
        raise ValueError(f"A is {list(A)}: give some, not all, of the patterns 0 to {D - 1}.")
    in_A = torch.zeros(D, dtype=torch.bool, device=G.device)
    in_A[torch.as_tensor(list(A), device=G.device)] = True
    T = (G @ M) / a.where(a != 0, torch.nan)[:, None]
    return PatternSignal(T, T[:, in_A].abs().mean(1), T[:, ~in_A].square().mean(1).sqrt())
