"""Symmetric matrices by one triangle: Gram matrices, and Cholesky factors on their own memory."""

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
