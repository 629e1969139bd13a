"""Multiplications, additions and memory traffic of whatever torch computes, by watching it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from ..maths import linear_algebra

#: Bytes of a float64.
WIDE = 8

_ATEN, _OWN = torch.ops.aten, torch.ops.gradfeat


@dataclass
class Operations:
    #: Multiplications and additions of matrix products; a Gram matrix F^T F of (n, m) counts
    #: n m (m + 1), a triangular solve of (n, m) counts n m^2, a Cholesky factor m^3 / 3.
    flops: int = 0
    #: The same where Gram matrices have both halves, as graphics cards compute them: 2 n m^2.
    whole: int = 0
    touched: int = 0  # numbers that all other operations wrote
    #: Sides of the symmetric matrices whose spectrum was found.
    spectra: list[int] = field(default_factory=list)

    def copy(self) -> Operations:
        return Operations(self.flops, self.whole, self.touched, list(self.spectra))

    def clear(self) -> None:
        self.flops = self.whole = self.touched = 0
        self.spectra = []

    def less(self, other: Operations) -> Operations:
        return Operations(
            self.flops - other.flops, self.whole - other.whole, self.touched - other.touched
        )


class Counter(TorchDispatchMode):
    """Adds what torch computes in this thread to `count`.

    >>> A = torch.ones(3, 4)
    >>> with Counter(found := Operations()):
    ...     B = A @ A.T + 1
    >>> found.flops, found.touched
    (72, 9)
    """

    def __init__(self, count: Operations) -> None:
        super().__init__()
        self.count = count

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        del types
        out = func(*args, **(kwargs or {}))
        self._add(func, args, kwargs or {}, out)
        return out

    def _add(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        packet, count = func._overloadpacket, self.count
        if packet in flop_registry:
            products = flop_registry[packet](*args, **kwargs, out_val=out)
        elif packet in _PRODUCTS:
            products = _PRODUCTS[packet](*args)
        elif packet is _ATEN._linalg_eigh:
            count.spectra.append(args[0].shape[-1])
            return
        elif packet is _OWN.add_gram_:
            n, m = args[1].shape
            count.flops += n * m * (m + 1)
            count.whole += 2 * n * m * m
            return
        else:
            count.touched += 0 if func.is_view else _numbers(out)
            return
        count.flops += products
        count.whole += products


#: Imported so that the operator which it defines is there.
GRAM_OPERATOR = linear_algebra.add_gram_


def _solve(T: Tensor, B: Tensor, *rest: Any) -> int:
    del rest
    return T.shape[-1] * B.numel()


def _factor(A: Tensor, *rest: Any) -> int:
    del rest
    return A.shape[-1] ** 3 // 3


_PRODUCTS = {
    _ATEN.addmm_: lambda total, A, *_: 2 * A.shape[-1] * total.numel(),
    _ATEN.linalg_solve_triangular: _solve,
    _ATEN.triangular_solve: lambda B, T, *rest: _solve(T, B, *rest),
    _ATEN.cholesky_solve: lambda B, T, *rest: 2 * _solve(T, B, *rest),
    _ATEN.linalg_cholesky_ex: _factor,
}


def _numbers(out: Any) -> int:
    return sum(one.numel() for one in tree_leaves(out) if torch.is_tensor(one))
