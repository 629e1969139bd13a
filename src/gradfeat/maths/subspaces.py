"""Comparing directions and subspaces; singular values without what is not needed."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from .gram import smaller_gram
from .streams import stream


def principal_angles(U: Float[Tensor, "d r"], V: Float[Tensor, "d s"]) -> Float[Tensor, " k"]:
    """Principal angles between the column spaces of U and V, ascending, in radians.

    cos theta_i = sigma_i(Q_U^T Q_V), with sines used for small angles so that equal spaces
    give angles of rounding size, not of its square root.

    Source: Bjorck & Golub 1973, with Knyazev & Argentati's sine variant.

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
    """Cosine of two matrices as vectors: <A, B>_F / (|A|_F |B|_F); nan if one is zero."""
    return float((A * B).sum() / (A.norm() * B.norm()))


def leading_directions(M: Float[Tensor, "d d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Eigenvalues (decreasing, >= 0) and eigenvectors (columns) of a PSD matrix.

    Each eigenvector's sign makes its largest entry positive, so that equal inputs print equally.
    """
    values, vectors = torch.linalg.eigh((M + M.T) / 2)
    return values.flip(0).clamp(min=0), upright(vectors.flip(1))


def upright(vectors: Float[Tensor, "d k"]) -> Float[Tensor, "d k"]:
    """The columns with signs that make the largest entry of each positive."""
    largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
    return vectors * torch.where(largest < 0, -1.0, 1.0)


def row_basis(X: Float[Tensor, "n d"]) -> Float[Tensor, "d n"] | None:
    """Orthonormal columns that span the rows of X, where n < d; None elsewhere."""
    if len(X) >= X.shape[1]:
        return None
    return torch.linalg.qr(X.double().T)[0].to(X).contiguous()


def completed(V: Float[Tensor, "d k"], r: int) -> Float[Tensor, "d r"]:
    """The first r of the orthonormal columns of V, with others orthogonal to them where k < r."""
    (d, k), more = V.shape, r - V.shape[1]
    if more <= 0:
        return V[:, :r]
    unit = V.new_zeros(d, more)
    unit[V.square().sum(1).argsort(stable=True)[:more], range(more)] = 1.0
    return torch.cat([V, upright(torch.linalg.qr(torch.cat([V, unit], dim=1))[0][:, k:])], dim=1)


#: Columns of a block beyond those asked for.
EXTRA = 2


def singular_values(F: Float[Tensor, "n m"]) -> Float[Tensor, " k"]:
    """All k = min(n, m) singular values, largest first, from the smaller Gram matrix.

    Squares lose half of the digits: values below sqrt(eps) times the largest are rounding.
    """
    return torch.linalg.eigvalsh(smaller_gram(F), UPLO="U").clamp(min=0).sqrt().flip(0)


def leading_singular(
    F: Float[Tensor, "n m"], k: int, tol: float | None = None
) -> tuple[Float[Tensor, " k"], Float[Tensor, "n k"]]:
    """The k largest singular values, largest first, and left vectors: s_i^2 u_i = F F^T u_i.

    Block Lanczos with full orthogonalisation: products of F with k + 2 columns, on every device,
    until each |A v - s^2 v| <= tol s_1^2 (A the smaller of F^T F and F F^T, not formed; tol 1e6
    rounding units unless given). Values apart from the rest take a few steps; the basis ends at all
    of the space. The relative error of a value is about tol^2 over its relative gap to the next,
    that of a vector tol over it. Signs of vectors are arbitrary, but the same at every call.

    Source: Golub & Underwood 1977.

    >>> s, u = leading_singular(torch.diag(torch.arange(50.0).double()), 2)
    >>> [round(float(x), 9) for x in s], round(abs(float(u[49, 0])), 9)
    ([49.0, 48.0], 1.0)
    """
    small = min(F.shape)
    if not 1 <= k <= small:
        raise ValueError(
            f"{k} singular values of a matrix of {F.shape[0]} x {F.shape[1]} were asked for: "
            f"give 1 to {small}."
        )
    tall = F.shape[1] <= F.shape[0]
    A = F.mT if tall else F  # (small, large); its left vectors are found
    squares, V = _leading(A, k, 1e6 * torch.finfo(F.dtype).eps if tol is None else tol)
    # Columns of F V are orthogonal: QR scales them, also where a value is zero.
    return squares.clamp(min=0).sqrt(), torch.linalg.qr(F @ V)[0] if tall else V


def _leading(A: Tensor, k: int, tol: float) -> tuple[Tensor, Tensor]:
    """Leading eigenvalues and vectors of A A^T. A basis is rows: BLAS is fastest so."""
    small = len(A)
    start = torch.randn(small, min(k + EXTRA, small), generator=stream(0, "block Lanczos"))
    Q = _orthonormal(start.to(A).mT)
    AQ = (Q @ A) @ A.mT
    while True:
        values, S = torch.linalg.eigh(AQ @ Q.mT)
        values, S = values[-k:].flip(0), S[:, -k:].flip(1).mT
        rest = S @ AQ - values[:, None] * (S @ Q)
        if len(Q) == small or bool((rest.norm(dim=1) <= tol * values[0]).all()):
            return values, (S @ Q).mT
        for _ in range(max(1, len(Q) // (4 * start.shape[1]))):  # few, ever larger checks
            new = AQ[-start.shape[1] :]
            for _ in range(3):  # once more than enough, for a block that lies in the basis
                new = _orthonormal(new - (new @ Q.mT) @ Q)
            new = new[: small - len(Q)]
            Q, AQ = torch.cat([Q, new]), torch.cat([AQ, (new @ A) @ A.mT])


def _orthonormal(rows: Tensor) -> Tensor:
    return torch.linalg.qr(rows.mT)[0].mT


#: Steps towards the direction of most variance: it need not be exact.
POWERS = 10


def widest_direction(X: Float[Tensor, "n r"], w: Float[Tensor, " n"]) -> Float[Tensor, " r"]:
    """Unit vector along which rows vary most, nearly: few steps of the power method."""
    p = w / w.sum()
    centred = X - p @ X
    v = (p @ centred.square()).argmax() == torch.arange(X.shape[1], device=X.device)
    v = v.to(X)
    for _ in range(POWERS):
        pulled = (p * (centred @ v)) @ centred
        v = pulled / pulled.norm() if float(pulled.norm()) > 0 else v
    return v
