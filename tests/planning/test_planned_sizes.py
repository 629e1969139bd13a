"""Sizes of rehearsed passes against formulas, and against the statistics of a fit of that size."""

from __future__ import annotations

import pytest
import torch

from gradfeat.maths.ridge import penalty_grid
from gradfeat.planning.counting import Counter, Operations
from gradfeat.planning.job import METHODS, Job
from gradfeat.planning.rehearsal import PassSizes, rehearsed, timed
from planning import formulas

ROWS = 10**6

#: Columns, features, outputs: one inside and one far outside of what is rehearsed.
SHAPES = [(6, 10, 1), (6, 10, 3), (120, 700, 1), (120, 700, 4)]


def of(job: Job) -> dict[str, PassSizes]:
    return {one.label: one.sizes for one in rehearsed(job).passes(job)}


def job_of(method, d, m, c, **options) -> Job:
    width = None if method == "linear" else m
    return Job(rows=ROWS, columns=d, method=method, width=width, outputs=c, **options)


def expected(method: str, label: str, d: int, m: int, c: int, *, full: bool) -> float:
    """Operations of a row by hand; inputs of gradient features and of an RFM are rotated."""
    f = formulas
    rotated = 2 * d * d if method in ("gradient-features", "rfm") else 0
    match method, label:
        case _, "moments":
            return f.moments(d, c, full=full)
        case (("rfm" | "kernel"), "normal equations"):
            return rotated + f.nystrom(d, m) + f.moments(m, c, full=full)
        case "linear", _:
            return f.left_out(d, c)
        case _, "linear part, left out":
            return rotated + f.left_out(d, c)
        case _, "gradient":
            return rotated + f.gradient(d, m, c)
        case _, "normal equations":
            return rotated + f.features(d, m, c) + f.moments(m, c, full=full)
        case _, "normal equations, left out":
            return rotated + f.features(d, m, c) + f.left_out(m, c)
    return rotated + f.gradient_products(d, m, c, full=full)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_operations_of_a_row_are_those_of_the_formulas(method, shape):
    d, m, c = shape
    steps = 2 if method == "gradient-features" else 1
    for label, sizes in of(job_of(method, *shape, penalty_by="loo", steps=steps)).items():
        # Means of columns and contractions over rows are counted as products of a vector, and
        # Chan's update is a row more: a number or two for each that there is, and once a block.
        once = m + d + c
        extra = 2 * (once + d * c + formulas.PENALTIES * c + 2 * once * c)
        for full, counted in ((False, sizes.flops), (True, sizes.whole)):
            by_hand = expected(method, label, d, m, c, full=full)
            assert 0.999 * by_hand <= counted <= 1.001 * by_hand + extra, (label, full)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bytes_of_states_and_statistics_are_those_of_the_formulas(shape):
    d, m, c = shape
    f, found = formulas, of(job_of("gradient-features", *shape, penalty_by="loo", steps=2))
    sample = f.WIDE * 22_000 * (d + c + 2)
    triangle = f.WIDE * (1 + d * (d + 1) // 2 + c * d)
    packed = {
        "moments": f.moment_bytes(d, c, packed=True) + sample,
        "gradient": f.WIDE * (m // 2 * (d + 1) + 1),
        "normal equations": f.moment_bytes(m, c, packed=True),
        "linear part, left out": f.WIDE * (f.PENALTIES + 1),
        "normal equations, left out": f.WIDE * (f.PENALTIES + 1),
        "gradients after step 1": triangle,
    }
    assert {label: round(sizes.packed) for label, sizes in found.items()} == packed
    # Names of classes and shapes of arrays take some 2 kB; a rounded byte in the rehearsed samples
    # of a hundred rows is 230 in one of 22,000.
    held = {
        "moments": f.moment_bytes(d, c, packed=False) + sample,
        "normal equations": f.moment_bytes(m, c, packed=False),
        "gradients after step 1": f.WIDE * (1 + d * d + c * d),
    }
    for label, size in held.items():
        assert found[label].held == pytest.approx(size, rel=2e-3, abs=4000)
    sent = f.net_bytes(d, m, c) + f.affine_bytes(d, c, whitened=True)
    assert found["normal equations"].sent == pytest.approx(sent, rel=2e-2, abs=4000)


def test_the_driver_solves_what_follows_from_a_pass():
    found = of(job_of("gradient-features", 120, 700, 1))
    assert found["moments"].spectra == (120.0, 120.0)  # whitening, and the linear part
    assert found["normal equations"].spectra == (700.0,)
    kernel = of(job_of("kernel", 120, 700, 1))["moments"]
    # Randomly pivoted Cholesky of 700 centres among 20,000 rows, and two factors.
    pivots = 20_000 * 700 * (2 * 120 + 700)
    assert kernel.products == pytest.approx(pivots, rel=0.05)


def test_the_number_of_penalties_is_that_of_the_head():
    assert len(penalty_grid(torch.ones(3))) == formulas.PENALTIES


def test_a_timed_rehearsal_gives_times():
    found = timed(job_of("gradient-features", 6, 10, 1), 100)
    assert len(found) == 3
    for one in found:
        assert one.row > 0
        assert min(one.start, one.merge, one.pack, one.unpack) >= 0


def test_gram_matrices_of_blas_and_solves_are_counted():
    from gradfeat.maths.linear_algebra import add_gram

    A, T = torch.ones(5, 3).double(), torch.eye(3).double()
    with Counter(gram := Operations()):
        add_gram(torch.zeros(3, 3).double(), A)
    assert (gram.flops, gram.whole) == (5 * 3 * 4, 2 * 5 * 3 * 3)
    with Counter(solve := Operations()):
        torch.linalg.solve_triangular(T, A, upper=True, left=False)
        torch.linalg.eigh(T)
    assert (solve.flops, solve.spectra) == (5 * 3 * 3, [3])
