"""Rows that the theory's rates suggest for what a diagnosis found."""

from __future__ import annotations

from gradfeat.table.diagnosis import SampleSize
from gradfeat.theory.damian22_rates import suggested_samples


def sample_sizes(
    inputs: int, directions: int, exponent: int | None, degree: int
) -> tuple[SampleSize, ...]:
    """One gradient step, any learner by noisy correlations, kernels; none without a signal.

    Parameters
    ----------
    inputs, directions : int
        Whitened inputs d, and directions beyond chance.
    exponent : int or None
        Information exponent k.
    degree : int
        Highest degree beyond chance.

    Examples
    --------
    >>> [(size.rate, size.rows) for size in sample_sizes(10, 1, 2, 4)]
    [('d^2', 100.0), ('d^4', 10000.0)]
    """
    if exponent is None:
        return ()
    scales = suggested_samples(inputs, max(1, directions), exponent, degree)
    step = SampleSize(
        f"one gradient step sees the signal of degree {exponent}", power(exponent), scales.one_step
    )
    kernel = SampleSize(
        f"a kernel fits everything up to degree {degree}", power(degree), scales.kernel
    )
    if exponent < 3:
        return step, kernel
    bound = "the least for learners that average products of the target"
    query = SampleSize(bound, f"d^{exponent / 2:g}", scales.query_bound)
    return query, step, kernel


def power(k: int) -> str:
    """``d`` or ``d^k``.

    Examples
    --------
    >>> power(1), power(3)
    ('d', 'd^3')
    """
    return "d" if k == 1 else f"d^{k}"
