"""Torch modules as functions: in evaluation mode while they are looked at, unchanged after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; each submodule's own mode again outside."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def float_place(module: nn.Module, X: Tensor) -> tuple[torch.device, torch.dtype]:
    """Device and float type of a module's parameters; those of X where it has none."""
    first = next((p for p in module.parameters() if p.is_floating_point()), X)
    return first.device, first.dtype


def check_differentiable(f: Callable[[Tensor], Tensor], X: Tensor) -> int:
    """Number of outputs a row of f, after looking at the first two rows of X."""
    with torch.enable_grad():
        X = X[:2].detach().clone().requires_grad_(True)
        out = _floating_rows(f(X), len(X))
        back = _back_to(out[0].sum(), X)
    if back[1:].any():
        raise ValueError(
            "the model's output for one row changes with another row (statistics of the batch, "
            "attention between rows): give a function of one row at a time."
        )
    return out.shape[1]


def _floating_rows(out: object, n: int) -> Tensor:
    match out:
        case Tensor() if out.is_floating_point() and out.ndim and len(out) == n:
            return out.reshape(n, -1)
        case Tensor():
            came = f"a {out.dtype} tensor of shape {tuple(out.shape)}"
        case _:
            came = f"a {type(out).__name__}"
    raise ValueError(
        f"the model gave {came} for {n} rows: allowed is a floating tensor with one row for each "
        "row of X; wrap the model in a function that returns it."
    )


def _back_to(value: Tensor, X: Tensor) -> Tensor:
    """Gradient of `value` with respect to X."""
    slope = torch.autograd.grad(value, X, allow_unused=True)[0] if value.requires_grad else None
    if slope is None:
        raise ValueError(
            "autograd cannot follow the model's output back to X (detached, or no_grad inside): "
            "return a differentiable output, or give X as a NumPy array and a function of arrays "
            "to take finite differences."
        )
    return slope
