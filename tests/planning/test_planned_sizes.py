"""Formulas of flops and bytes against the statistics themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gradfeat.maths.ridge import penalty_grid
from gradfeat.planning import flops
from gradfeat.planning.kernel_kinds import NystromEquations
from gradfeat.planning.kinds import Kind, Shape
from gradfeat.planning.network_kinds import (
    FirstPass,
    Gradient,
    Gradients,
    LeftOut,
    NormalEquations,
    sample_rows,
)
from gradfeat.planning.trial import rows_of, try_kind
from gradfeat.rows.wire import dumps, pack

ROWS = 64
SHAPES = [Shape(20, 1, 200), Shape(20, 3, 200, whitened=True)]
KINDS: list[Kind] = [
    FirstPass(),
    Gradient(),
    NormalEquations(),
    LeftOut(),
    LeftOut(inputs=True),
    Gradients(),
    NystromEquations(),
]


def of_blas(kind: Kind, s: Shape) -> int:
    """The symmetric products of a row, which BLAS makes unseen by torch."""
    match kind:
        case FirstPass():
            return flops.gram(s.d)
        case NormalEquations() | NystromEquations():
            return flops.gram(s.m)
        case Gradients():
            return s.c * flops.gram(s.d)
    return 0


def unseen(kind: Kind, s: Shape) -> int:
    """What torch does not count of the products: the triangular solve of kernel features."""
    return s.m * s.m if type(kind) is NystromEquations else 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_flops_are_those_that_are_counted(kind, shape):
    statistic, block = kind.statistic(shape), rows_of(shape, ROWS)
    state = statistic.init(block)
    with FlopCounterMode(display=False) as counter:
        statistic.update(state, block)
    counted = counter.get_total_flops() / ROWS
    planned = kind.flops(shape) - of_blas(kind, shape) - unseen(kind, shape)
    # Means of columns and contractions over rows are counted as products of a vector, and Chan's
    # update is a row more: a number or two for each that there is.
    once = shape.m + shape.d + shape.c
    extra = 2 * (once + shape.d * shape.c + flops.PENALTIES * shape.c + once * shape.c / ROWS)
    assert planned <= counted <= planned + extra


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_full_gram_matrix_takes_no_less(kind):
    assert kind.flops(SHAPES[0], full=True) >= kind.flops(SHAPES[0])


def bytes_of(state: Any) -> int:
    """Bytes of all tensors of a state."""
    match state:
        case torch.Tensor():
            return state.nbytes
        case list() | tuple():
            return sum(bytes_of(part) for part in state)
    return sum(bytes_of(part) for part in vars(state).values())


@pytest.mark.parametrize("shape", [Shape(3, 1, 40), Shape(4, 2, 30, whitened=True)])
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_bytes_of_states_are_those_that_are_packed_and_held(kind, shape):
    full = sample_rows(shape) + 10 if kind == FirstPass() else ROWS
    statistic, block = kind.statistic(shape), rows_of(shape, full)
    state = statistic.update(statistic.init(block), block)
    packed = sum(values.nbytes for values in pack(statistic, state).values())
    assert packed == kind.packed(shape)
    assert bytes_of(state) == kind.held(shape)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_bytes_of_the_statistic_are_those_that_are_sent(kind):
    shape = Shape(20, 1, 200, whitened=True)
    sent = len(dumps(kind.statistic(shape), "the statistic"))
    # Names of classes and shapes of arrays take some 2 kB.
    assert sent == pytest.approx(kind.sent(shape), abs=4000)


def test_the_number_of_penalties_is_that_of_the_head():
    assert len(penalty_grid(torch.ones(3))) == flops.PENALTIES


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_trial_gives_times(kind):
    found = try_kind(kind, replace(SHAPES[0], m=20), 256, 0.001, 1e10)
    assert found.row > 0
    assert min(found.start, found.merge, found.pack, found.unpack) >= 0
    assert found.share > 0
