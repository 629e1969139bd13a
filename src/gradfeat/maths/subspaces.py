"""Comparing directions and subspaces."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def principal_angles(U: Float[Tensor, "d r"], V: Float[Tensor, "d s"]) -> Float[Tensor, " k"]:
    """Principal angles between the column spaces of U and V, ascending, in radians.

    cos theta_i = sigma_i(Q_U^T Q_V), with sines used for small angles so that equal spaces
    give angles of rounding size, not of its square root.

    Parameters
    ----------
    U, V : Tensor (d, r), (d, s)
        Any bases (they need not be orthonormal).

    Returns
    -------
    Tensor (min(r, s),)
        Angles in [0, pi/2].

    Source: Bjorck & Golub 1973, with Knyazev & Argentati's sine variant.

    Examples
    --------
    >>> I = torch.eye(3, dtype=torch.float64)
    >>> principal_angles(I[:, :1], I[:, :2]).tolist()
    [0.0]
    """
    if U.shape[1] > V.shape[1]:
        U, V = V, U
    Q, R = torch.linalg.qr(U)[0], torch.linalg.qr(V)[0]
    cosines = torch.linalg.svdvals(R.T @ Q).clamp(max=1.0)
    sines = torch.linalg.svdvals(Q - R @ (R.T @ Q)).clamp(max=1.0).flip(0)
    return torch.where(cosines**2 >= 0.5, sines.asin(), cosines.acos())


def flat_cosine(A: Float[Tensor, "d e"], B: Float[Tensor, "d e"]) -> float:
    """Cosine of two matrices as vectors: <A, B>_F / (|A|_F |B|_F); nan if one is zero.

    Examples
    --------
    >>> round(flat_cosine(torch.eye(2), torch.diag(torch.tensor([1.0, 0.0]))), 4)
    0.7071
    """
    return float((A * B).sum() / (A.norm() * B.norm()))


def leading_directions(
    M: Float[Tensor, "d d"],
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Eigenvalues (decreasing, >= 0) and eigenvectors (columns) of a PSD matrix.

    Each eigenvector's sign makes its largest entry positive, so that equal inputs print equally.

    Examples
    --------
    >>> leading_directions(torch.diag(torch.tensor([1.0, 4.0])))[0].tolist()
    [4.0, 1.0]
    """
    values, vectors = torch.linalg.eigh((M + M.T) / 2)
    values, vectors = values.flip(0).clamp(min=0), vectors.flip(1)
    largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
    return values, vectors * torch.where(largest < 0, -1.0, 1.0)


def effective_rank(values: Float[Tensor, " d"]) -> float:
    """Number of effective directions exp(H(p)), p = eigenvalues / sum; 0 for a zero spectrum.

    r equal eigenvalues give r; a spectrum that decays counts its tail by its weight.

    Source: Roy & Vetterli 2007 (effective rank).

    Examples
    --------
    >>> effective_rank(torch.tensor([1.0, 1.0, 0.0]))
    2.0
    """
    total = values.sum()
    if total <= 0:
        return 0.0
    p = values / total
    return round(float(torch.special.entr(p).sum().exp()), 12)
