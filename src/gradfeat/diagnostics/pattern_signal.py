"""What a measured first-layer gradient holds of each pattern."""

# Apart: of gradients, where `alignment` is about neurons.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


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
