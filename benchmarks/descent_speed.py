"""Gradient descent in closed form against automatic differentiation, the same networks trained.

    python benchmarks/descent_speed.py [--repetitions 5] [--sizes small,middle,paper] [--steps 30]

Hard instance of sparse coding, truncated ReLU, hinge loss, momentum, full batch, float32, the rows
of each network its own. (1) gradfeat's descent, networks stacked; (2) the same, one by one; (3) a
plain loop, one network at a time: backward() and torch.optim.SGD; (4) the same step, gradient and
update, as one function under torch.compile, one network at a time. One thread, alternating order,
medians; the final weights are compared with those of (2).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from common import alternate, machine, median
from torch import Tensor

from gradfeat.maths.activations import TruncatedReLU
from gradfeat.maths.streams import stream
from gradfeat.models.descent.layers import Layers, Start, stack
from gradfeat.models.descent.loop import descend
from gradfeat.models.descent.phases import Phase
from gradfeat.models.descent.trained import AllLayers, Batch
from gradfeat.models.losses import Hinge
from gradfeat.tasks.sparse_coding import SparseCoding

MOMENTUM = 0.9
Step = Callable[..., tuple[Tensor, ...]]


@dataclass(frozen=True)
class Size:
    """Inputs, patterns, relevant patterns, neurons, rows, networks."""

    d: int
    D: int
    k: int
    m: int
    n: int
    seeds: int


SIZES = {
    "small": Size(20, 16, 3, 50, 64, 16),
    "middle": Size(100, 50, 5, 300, 500, 8),
    "paper": Size(500, 100, 5, 600, 1000, 4),
}


def cells(size: Size) -> list[tuple[Layers, Batch]]:
    """A start and rows for each network, float32."""
    task = SparseCoding.hard(size.d, size.D, size.k)
    start, found = Start(1 / size.k, 0.2, 1.0), []
    for seed in range(size.seeds):
        sample = task.sample(size.n, stream(seed, "train"))
        X, y = sample.X.float()[None], sample.y.float()[None]
        layers = start.draw(size.m, size.d, 1, seed, dtype=torch.float32)
        found.append((layers, Batch(X, y, torch.full_like(y, 1 / size.n))))
    return found


def step_size(m: int) -> float:
    """m eta = 10: about a third of the rows still has a slope after some ten steps."""
    return 10.0 / m


def ours(layers: Layers, rows: Batch, steps: int) -> list[Tensor]:
    """W of each network after `steps` steps in closed form."""
    phase = Phase(steps, step_size(layers.W.shape[1]), momentum=MOMENTUM)
    path = descend(layers, lambda *_: rows, [phase], Hinge(), TruncatedReLU(), AllLayers())
    *_, last = path
    return list(last.layers.W)


def stacked(found: list[tuple[Layers, Batch]]) -> tuple[Layers, Batch]:
    """All networks in one."""
    rows = [one for _, one in found]
    joined = [torch.cat([getattr(one, name) for one in rows]) for name in ("X", "y", "w")]
    return stack([layers for layers, _ in found]), Batch(*joined)


def hinge(W: Tensor, b: Tensor, a: Tensor, X: Tensor, y: Tensor) -> Tensor:
    """Mean loss of one network."""
    return torch.relu(1 - y * (torch.addmm(b, X, W.T).clamp(0, 1) @ a)).mean()


def parts(layers: Layers, rows: Batch) -> tuple[list[Tensor], Tensor, Tensor]:
    """Parameters of a single network, its inputs and labels."""
    return [layers.W[0].clone(), layers.b[0].clone(), layers.a[0].clone()], rows.X[0], rows.y[0]


def plain(layers: Layers, rows: Batch, steps: int) -> Tensor:
    """The usual training loop."""
    theta, X, y = parts(layers, rows)
    theta = [p.requires_grad_() for p in theta]
    optimiser = torch.optim.SGD(theta, step_size(len(theta[1])), momentum=MOMENTUM)
    for _ in range(steps):
        optimiser.zero_grad()
        hinge(*theta, X, y).backward()
        optimiser.step()
    return theta[0].detach()


def whole_step(theta: list[Tensor], v: list[Tensor], X: Tensor, y: Tensor) -> list[list[Tensor]]:
    """Gradient by automatic differentiation, momentum, update."""
    g = torch.func.grad(hinge, (0, 1, 2))(*theta, X, y)
    v = [MOMENTUM * old + new for old, new in zip(v, g, strict=True)]
    eta = step_size(len(theta[1]))
    return [[p - eta * q for p, q in zip(theta, v, strict=True)], v]


def compiled(step: Callable, layers: Layers, rows: Batch, steps: int) -> Tensor:
    """The loop around a compiled step."""
    theta, X, y = parts(layers, rows)
    v = [torch.zeros_like(p) for p in theta]
    for _ in range(steps):
        theta, v = step(theta, v, X, y)
    return theta[0]


def ready(found: list[tuple[Layers, Batch]]) -> tuple[Callable | None, float]:
    """The compiled step and the seconds it took, None where no compiler works."""
    torch.compiler.reset()
    step, start = torch.compile(whole_step, fullgraph=True, dynamic=False), time.perf_counter()
    try:
        compiled(step, *found[0], 2)
    except torch._inductor.exc.InductorError as error:
        print(f"torch.compile is left out: {str(error).splitlines()[0]}")
        return None, 0.0
    return step, time.perf_counter() - start


def methods(found: list[tuple[Layers, Batch]], steps: int, step: Callable | None) -> dict:
    """Every way to train all cells."""
    whole = stacked(found)
    runs: dict[str, Callable[[], list[Tensor]]] = {
        "closed form, one by one": lambda: [ours(*cell, steps)[0] for cell in found],
        "closed form, stacked": lambda: ours(*whole, steps),
        "autograd, torch.optim.SGD": lambda: [plain(*cell, steps) for cell in found],
    }
    if step is not None:
        runs["autograd, torch.compile"] = lambda: [compiled(step, *cell, steps) for cell in found]
    return runs


def distance(one: list[Tensor], other: list[Tensor]) -> float:
    """Largest difference relative to the largest weight."""
    A, B = torch.stack(one), torch.stack(other)
    return float((A - B).abs().max() / B.abs().max())


def report(name: str, steps: int, repetitions: int) -> None:
    """One size: a row a method, in milliseconds a step and network."""
    size = SIZES[name]
    found = cells(size)
    step, compiling = ready(found)
    runs = methods(found, steps, step)
    for run in runs.values():
        run()
    seconds, weights = alternate(runs, repetitions)
    base = median(seconds["closed form, one by one"])
    for method in runs:
        t, gap = median(seconds[method]), distance(weights[method], weights[next(iter(runs))])
        each = 1e3 * t / (steps * size.seeds)
        print(f"| {name} | {method} | {each:.3f} | {t / base:.2f} | {gap:.0e} |")
    print(f"| {name} | compiling once: {compiling:.1f} s | | | |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--sizes", default="small,middle,paper")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    print("| size | method | ms a step and network | against one by one | difference |")
    print("|---|---|---|---|---|")
    for name in options.sizes.split(","):
        report(name, options.steps, options.repetitions)


if __name__ == "__main__":
    main()
