"""Gram matrices and Cholesky factors by one triangle; singular values; comparing subspaces."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from torch import Tensor

from .streams import stream

#: y (n, c) -> A^{-1} y.
Solve = Callable[[Tensor], Tensor]

_POINTER = ctypes.c_void_p


def _function(name: str) -> Callable[..., None]:
    """A function of ten pointers that SciPy exports to compiled code, as one to call.

    (SciPy's own wrapper keeps other threads of Python waiting while it computes.)
    """
    capsule = import_module("scipy.linalg.cython_blas").__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = _POINTER, [ctypes.py_object, ctypes.c_char_p]
    address = get_pointer(capsule, get_name(capsule))
    return ctypes.CFUNCTYPE(None, *[_POINTER] * 10)(address)


#: By float type: the update, and the type of its numbers.
_UPDATES: dict[torch.dtype, tuple[Callable[..., None], Any]] = {
    torch.float64: (_function("dsyrk"), ctypes.c_double),
    torch.float32: (_function("ssyrk"), ctypes.c_float),
}


def add_gram_(C: Float[Tensor, "m m"], F: Float[Tensor, "n m"]) -> None:
    """Add F^T F to the upper triangle of C, in place; both contiguous, of one type, on the CPU.

    Half the multiplications of the plain product. Other threads run meanwhile.
    """
    on_cpu = C.device.type == F.device.type == "cpu"
    whole = on_cpu and C.is_contiguous() and F.is_contiguous()
    if not (whole and C.dtype == F.dtype and C.dtype in _UPDATES):
        raise ValueError(
            f"C is of {C.dtype} on {C.device} and F of {F.dtype} on {F.device}: give contiguous "
            "tensors of one type, float64 or float32, on the CPU."
        )
    if F.numel():
        torch.ops.gradfeat.add_gram_(C, F)


def _update(C: Tensor, F: Tensor) -> None:
    """Row-major matrices are their transposes to BLAS: its lower triangle is the upper one here."""
    (n, m), (update, number) = F.shape, _UPDATES[F.dtype]
    values = (ctypes.c_char(b"L"), ctypes.c_char(b"N"), ctypes.c_int(m), ctypes.c_int(n))
    one = number(1.0)
    lower, plain, m_, n_, scale = map(ctypes.addressof, (*values, one))
    update(lower, plain, m_, n_, scale, F.data_ptr(), m_, scale, C.data_ptr(), m_)


def smaller_gram(F: Float[Tensor, "n m"]) -> Float[Tensor, "k k"]:
    """F^T F where m <= n, else F F^T: k = min(n, m). **Only the upper triangle is defined.**

    On the CPU by the rank-k update of BLAS on F's own memory: half the multiplications.
    """
    tall = F.shape[1] <= F.shape[0]
    if F.device.type != "cpu":
        return F.mT @ F if tall else F @ F.mT
    columns = F.contiguous().numpy().T  # in the order of columns: BLAS takes it without a copy
    (syrk,) = get_blas_funcs(("syrk",), (columns,))
    return torch.from_numpy(syrk(1.0, columns, trans=0 if tall else 1, lower=1).T)


def add_gram(total: Float[Tensor, "m m"], F: Float[Tensor, "n m"]) -> None:
    """Add F^T F to `total` (float64) in place. **Only its upper triangle is defined.**

    On the CPU by :func:`add_gram_`, in float64 on the memory of `total`.
    """
    if F.device.type != "cpu":
        total.add_(F.mT @ F)
    elif F.dtype == total.dtype:
        add_gram_(total, F.contiguous())
    else:
        own = F.new_zeros(total.shape)
        add_gram_(own, F.contiguous())
        total.add_(own)


def mirrored(A: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """`A` with its upper triangle copied below, in place."""
    for i in range(1, len(A)):
        A[i, :i] = A[:i, i]
    return A


def cholesky_(A: Float[Tensor, "n n"]) -> Solve | None:
    """y -> A^{-1} y, or None where A is not positive definite. Overwrites a triangle of A.

    On the CPU LAPACK works in place on A's own memory, with neither copies nor a cleared half; A
    must not be changed while the solve is in use.

    >>> solve = cholesky_(4 * torch.eye(2))
    >>> None if solve is None else solve(torch.ones(2, 1)).tolist()
    [[0.25], [0.25]]
    >>> cholesky_(-torch.eye(2)) is None
    True
    """
    if A.device.type != "cpu":
        L, failed = torch.linalg.cholesky_ex(A)
        return None if failed else lambda y: torch.cholesky_solve(y, L).contiguous()
    factor, solve = get_lapack_funcs(("potrf", "potrs"), (A.numpy(),))
    F, failed = factor(A.numpy().T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    return lambda y: torch.from_numpy(np.ascontiguousarray(solve(F, y.numpy(), lower=1)[0]))


def upper_cholesky_(A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"] | None:
    """Upper triangular T with T^T T = A, or None where A is not positive definite.

    Reads the upper triangle of A. On the CPU T takes the memory of A: half the time of a factor in
    memory of its own.
    """
    if A.device.type != "cpu":
        T, failed = torch.linalg.cholesky_ex(A, upper=True)
        return None if failed else T
    (factor,) = get_lapack_funcs(("potrf",), (A.numpy(),))
    F, failed = factor(A.numpy().T, lower=1, clean=1, overwrite_a=1)
    return None if failed else torch.from_numpy(F.T)


def upper_times_transpose(T: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Upper triangle of T T^T, T upper triangular: on the CPU a sixth of the multiplications."""
    if T.device.type != "cpu":
        return T @ T.T
    (lauum,) = get_lapack_funcs(("lauum",), (T.numpy(),))
    return torch.from_numpy(np.ascontiguousarray(lauum(T.numpy().T, lower=1)[0].T))


# An operator of torch, so that what watches its operators (planning counts them) sees this one too.
_OPERATORS = torch.library.Library("gradfeat", "DEF")
_OPERATORS.define("add_gram_(Tensor(a!) C, Tensor F) -> ()")
_OPERATORS.impl("add_gram_", _update, "CPU")


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
    F: Float[Tensor, "n m"], k: int
) -> tuple[Float[Tensor, " k"], Float[Tensor, "n k"]]:
    """The k largest singular values, largest first, and left vectors: s_i^2 u_i = F F^T u_i.

    Block Lanczos with full orthogonalisation: products of F with k + 2 columns, on every device,
    until each |A v - s^2 v| <= tol s_1^2 (A the smaller of F^T F and F F^T, not formed; tol is
    1e6 rounding units). Values apart from the rest take a few steps; the basis ends at all
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
    squares, V = _leading(A, k, 1e6 * torch.finfo(F.dtype).eps)
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
