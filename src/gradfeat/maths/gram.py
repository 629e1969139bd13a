"""Gram matrices, of which only one triangle is computed; symmetric matrices as one triangle."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from jaxtyping import Float
from scipy.linalg import get_blas_funcs
from torch import Tensor

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
    for A in (C, F):
        if A.dtype not in _UPDATES or A.device.type != "cpu" or not A.is_contiguous():
            raise ValueError(
                f"a tensor of {A.dtype} on {A.device} came: give contiguous ones of float64 or "
                "float32 on the CPU."
            )
    if C.dtype != F.dtype:
        raise ValueError(f"C is of {C.dtype} and F of {F.dtype}: give both of one type.")
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

    On the CPU by the symmetric rank-k update of BLAS on F's own memory: half the multiplications
    of the plain product.
    """
    tall = F.shape[1] <= F.shape[0]
    if F.device.type != "cpu":
        return F.mT @ F if tall else F @ F.mT
    columns = F.contiguous().numpy().T  # in the order of columns: BLAS takes it without a copy
    (syrk,) = get_blas_funcs(("syrk",), (columns,))
    return torch.from_numpy(syrk(1.0, columns, trans=0 if tall else 1, lower=1).T)


def add_gram(total: Float[Tensor, "m m"], F: Float[Tensor, "n m"]) -> None:
    """Add F^T F to `total` (float64) in place. **Only its upper triangle is defined.**

    On the CPU by the symmetric rank-k update of BLAS, in float64 on the memory of `total`, while
    other threads run.
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


def to_triangle(A: Float[Tensor, "n n"]) -> Float[Tensor, " t"]:
    """The upper triangle, row by row: t = n (n + 1) / 2 numbers."""
    return torch.cat([A[i, i:] for i in range(len(A))]) if len(A) else A.new_zeros(0)


def from_triangle(t: Float[Tensor, " t"]) -> Float[Tensor, "n n"]:
    """The square matrix with this upper triangle, and zeros below it."""
    n = int(((8 * t.numel() + 1) ** 0.5 - 1) / 2 + 0.5)
    A, start = t.new_zeros(n, n), 0
    for i in range(n):
        A[i, i:] = t[start : start + n - i]
        start += n - i
    return A


# An operator of torch, so that what watches its operators (planning counts them) sees this one too.
_OPERATORS = torch.library.Library("gradfeat", "DEF")
_OPERATORS.define("add_gram_(Tensor(a!) C, Tensor F) -> ()")
_OPERATORS.impl("add_gram_", _update, "CPU")
