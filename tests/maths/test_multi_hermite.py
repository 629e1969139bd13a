"""Hermite series of several variables: against one variable, quadrature, Monte Carlo."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfeat.maths.hermite import HermiteSeries, gauss_hermite
from gradfeat.maths.limits import available_memory
from gradfeat.maths.multi_hermite import MAX_ORDER, MAX_TENSOR_ORDER, MultiHermite
from gradfeat.maths.multi_indices import MAX_POINTS, multi_indices

#: Values below are sums of at most 60 terms of size up to 1e3, each with a rounding of 2e-16.
ROUNDING = 1e-11
#: A correct average is farther from its mean than this many standard errors once in 15,000.
Z = 4.0

seeds = st.integers(0, 10_000)
powers = st.tuples(st.integers(0, 4), st.integers(0, 3))
polynomials = st.dictionaries(powers, st.floats(-2, 2, width=32), min_size=1, max_size=6)


def drawn(seed: int, r: int = 2, degree: int = 4, lowest: int = 0) -> MultiHermite:
    return MultiHermite.random(r, degree, np.random.default_rng(seed), lowest)


def points(r: int, n: int = 7) -> np.ndarray:
    return np.random.default_rng(5).uniform(-2, 2, (n, r))


def monomials_at(monomials: dict[tuple[int, ...], float], z: np.ndarray) -> np.ndarray:
    terms = [a * np.prod(z ** np.array(alpha), axis=-1) for alpha, a in monomials.items()]
    return np.sum(terms, axis=0)


def contracted(C: np.ndarray, w: np.ndarray, times: int) -> np.ndarray:
    for _ in range(times):
        C = C @ w
    return C


def differentiated(monomials: dict[tuple[int, int], float], axis: int) -> dict:
    """Monomials of the derivative along an axis."""
    step = np.eye(2, dtype=int)[axis]
    lowered = [(tuple(np.array(m) - step), m[axis] * a) for m, a in monomials.items() if m[axis]]
    return dict(lowered) or {(0, 0): 0.0}


def test_multi_indices_are_all_of_them() -> None:
    for r, k in itertools.product((1, 2, 4), range(5)):
        found = multi_indices(r, k)
        everything = itertools.product(range(k + 1), repeat=r)
        assert sorted(found) == sorted(alpha for alpha in everything if sum(alpha) == k)
        assert len(found) == math.comb(k + r - 1, k)


@settings(max_examples=25)
@given(c=st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=6).map(tuple))
def test_one_variable_is_the_series(c: tuple[float, ...]) -> None:
    series = HermiteSeries(c)
    g = MultiHermite.from_series(series)
    z = np.linspace(-2, 2, 5)
    np.testing.assert_allclose(g(z[:, None]), series(z), atol=ROUNDING)
    np.testing.assert_allclose(g.gradient(z[:, None])[:, 0], series.derivative()(z), atol=ROUNDING)
    assert g.norm_squared() == pytest.approx(series.norm_squared(), rel=1e-14)
    assert g.information_exponent() == series.information_exponent()
    for k, c_k in enumerate(c):
        assert float(g.tensor(k).ravel()[0]) == pytest.approx(math.factorial(k) * c_k, rel=1e-14)


@settings(max_examples=40)
@given(monomials=polynomials)
def test_polynomials_keep_their_values(monomials: dict[tuple[int, int], float]) -> None:
    z = points(2)
    g = MultiHermite.from_polynomial(monomials)
    np.testing.assert_allclose(g(z), monomials_at(monomials, z), atol=ROUNDING)
    np.testing.assert_allclose(g(z.reshape(7, 1, 2)), g(z)[:, None], rtol=0)


def test_coefficients_of_a_known_polynomial() -> None:
    # z0^4 = He_4 + 6 He_2 + 3; z0^2 z1 = He_2 He_1 + He_1.
    g = MultiHermite.from_polynomial({(4, 0): 2.0, (2, 1): 5.0})
    assert dict(zip(g.degrees, g.coefficients, strict=True)) == {
        (0, 0): 6.0, (0, 1): 5.0, (2, 0): 12.0, (2, 1): 5.0, (4, 0): 2.0,
    }  # fmt: skip


@settings(max_examples=20)
@given(seed=seeds)
def test_gradient_against_differences(seed: int) -> None:
    g, z, h = drawn(seed, r=3), points(3), 1e-4
    for i, e in enumerate(np.eye(3)):
        slope = (g(z + h * e) - g(z - h * e)) / (2 * h)
        # Truncation h^2/6 times a third derivative, itself below 1e3 at |z| <= 2.
        np.testing.assert_allclose(g.gradient(z)[:, i], slope, atol=1e-5)


@settings(max_examples=30)
@given(monomials=polynomials)
def test_tensor_is_the_mean_of_derivatives(monomials: dict[tuple[int, int], float]) -> None:
    """By exact quadrature of derivatives that know nothing of Hermite polynomials."""
    g = MultiHermite.from_polynomial(monomials)
    z, w = gauss_hermite(6)
    grid = np.stack(np.meshgrid(z, z, indexing="ij"), -1).reshape(-1, 2)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        second = differentiated(differentiated(monomials, i), j)
        mean = np.outer(w, w).ravel() @ monomials_at(second, grid)
        # Six terms of degree <= 5 with derivatives of size up to 1e3 at the nodes.
        assert g.tensor(2)[i, j] == pytest.approx(mean, abs=ROUNDING)


def test_tensors_against_monte_carlo() -> None:
    """E grad^k g by applying E[d_i g] = E[Z_i g] k times: C_k = E[g He_k(Z)]."""
    g = drawn(3, r=3, degree=3)
    z = np.random.default_rng(1).standard_normal((200_000, 3))
    probes = {
        (0,): z[:, 0],
        (0, 1): z[:, 0] * z[:, 1],
        (2, 2): z[:, 2] ** 2 - 1,
        (0, 1, 2): z[:, 0] * z[:, 1] * z[:, 2],
        (1, 1, 2): (z[:, 1] ** 2 - 1) * z[:, 2],
    }
    for axes, probe in probes.items():
        values = g(z) * probe
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - g.tensor(len(axes))[axes]) < Z * error, axes


@settings(max_examples=20)
@given(seed=seeds, k=st.integers(0, 5))
def test_contractions_equal_those_of_the_tensor(seed: int, k: int) -> None:
    g, w = drawn(seed, r=3), points(3)
    C = g.tensor(k)
    by_tensor = np.array([contracted(C, row, k) for row in w])
    np.testing.assert_allclose(g.contract(k, w), by_tensor, atol=ROUNDING)
    if k > 0:
        vectors = np.array([contracted(C, row, k - 1) for row in w])
        np.testing.assert_allclose(g.contract_to_vector(k, w), vectors, atol=ROUNDING)


@settings(max_examples=20)
@given(seed=seeds)
def test_tensor_is_symmetric(seed: int) -> None:
    C = drawn(seed, r=3).tensor(3)
    for order in itertools.permutations(range(3)):
        np.testing.assert_array_equal(C, C.transpose(order))


@settings(max_examples=20)
@given(seed=seeds)
def test_rotated_inputs_rotate_the_tensors(seed: int) -> None:
    """g(Q z) has the tensor C_k(Q ., Q .), found here by projecting values alone."""
    g = drawn(seed, r=2, degree=3)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((2, 2)))[0]
    turned = MultiHermite.from_function(lambda z: g(z @ Q.T), 2, 3)
    rotated = np.einsum("abc,ai,bj,ck->ijk", g.tensor(3), Q, Q, Q)
    np.testing.assert_allclose(turned.tensor(3), rotated, atol=ROUNDING)
    assert turned.norm_squared() == pytest.approx(g.norm_squared(), rel=1e-11)


@pytest.mark.parametrize(("r", "degree"), [(1, 7), (2, 5), (4, 3)])
def test_projection_of_a_polynomial_is_exact(r: int, degree: int) -> None:
    g = drawn(1, r, degree)
    for n_nodes in (None, degree + 1):
        found = MultiHermite.from_function(g, r, degree, n_nodes)
        assert found.degrees == g.degrees
        # Quadrature over up to 1e6 points, weighted averages of values of size up to 1e4.
        np.testing.assert_allclose(found.coefficients, g.coefficients, atol=1e-11)


def test_projection_of_a_smooth_function() -> None:
    # E exp(t.Z) He_alpha(Z) = t^alpha exp(|t|^2 / 2).
    t = np.array([0.5, -0.8])
    g = MultiHermite.from_function(lambda z: np.exp(z @ t), 2, 4)
    for alpha, c in zip(g.degrees, g.coefficients, strict=True):
        exact = np.prod(t ** np.array(alpha)) * math.exp(t @ t / 2)
        assert c * math.prod(map(math.factorial, alpha)) == pytest.approx(exact, abs=1e-11)


def test_too_few_nodes_are_seen() -> None:
    """Two nodes integrate He_1^2 but not He_3 He_1: the degree above folds onto the one below."""
    cubic = MultiHermite(((3,),), (1.0,))
    assert abs(MultiHermite.from_function(cubic, 1, 1, 2).coefficients[1]) > 1
    assert abs(MultiHermite.from_function(cubic, 1, 1, 3).coefficients[1]) < 1e-12


@settings(max_examples=20)
@given(seed=seeds, s=st.floats(-3, 3))
def test_sums_multiples_and_parts(seed: int, s: float) -> None:
    f, g, z = drawn(seed), drawn(seed + 1, degree=2), points(2)
    np.testing.assert_allclose((f + s * g)(z), f(z) + s * g(z), atol=ROUNDING)
    assert (s * g).coefficients == (g * s).coefficients == (np.float64(s) * g).coefficients
    parts = [f.part(k) for k in range(5)]
    np.testing.assert_allclose(sum(part(z) for part in parts), f(z), atol=ROUNDING)
    assert sum(part.norm_squared() for part in parts) == pytest.approx(f.norm_squared())
    np.testing.assert_array_equal(f.part(3).tensor(3), f.tensor(3))
    assert f.part(9) == MultiHermite(((0, 0),), (0.0,))


@settings(max_examples=20)
@given(seed=seeds, lowest=st.integers(0, 3))
def test_random_functions(seed: int, lowest: int) -> None:
    g = drawn(seed, r=3, degree=3, lowest=lowest)
    assert g.norm_squared() == pytest.approx(1, rel=1e-13)
    assert g.degree == 3
    assert g.information_exponent() == max(lowest, 1)
    assert g == drawn(seed, r=3, degree=3, lowest=lowest)


def test_random_degrees_have_the_same_expected_share() -> None:
    """Shares of normalised averages of 1, 3, 6 and 10 squares, drawn here on their own."""
    draws = [drawn(s, 3, 3) for s in range(1000)]
    shares = np.array([[g.part(k).norm_squared() for k in range(4)] for g in draws])
    rng = np.random.default_rng(1)
    raw = np.stack([rng.chisquare(m, 20_000) / m for m in (1, 3, 6, 10)], axis=1)
    wanted = raw / raw.sum(1, keepdims=True)
    error = np.hypot(shares.std(0) / math.sqrt(1000), wanted.std(0) / math.sqrt(20_000))
    assert np.all(np.abs(shares.mean(0) - wanted.mean(0)) < Z * error)


def test_information_exponent() -> None:
    assert MultiHermite(((0, 0), (2, 1)), (3.0, 1.0)).information_exponent() == 3
    assert MultiHermite(((0, 0),), (3.0,)).information_exponent() is None
    assert MultiHermite(((0,),), (0.0,)).information_exponent() is None
    faint = MultiHermite(((1, 0), (0, 2)), (1e-6, 1.0))
    assert (faint.information_exponent(), faint.information_exponent(1e-4)) == (1, 2)
    assert MultiHermite(((3, 0), (0, 1)), (0.0, 1.0)).degree == 1


def test_values_of_orders_that_overflow_elsewhere() -> None:
    g = MultiHermite(((40, 0), (0, 25)), (1e-40, 1e-20))
    w = np.array([[1.0, 0.5]])
    assert g.contract(40, w)[0] == pytest.approx(1e-40 * math.factorial(40), rel=1e-12)
    assert g.contract(25, w)[0] == pytest.approx(1e-20 * math.factorial(25) / 2**25, rel=1e-12)


@pytest.mark.parametrize(
    ("degrees", "coefficients", "message"),
    [
        ((), (), "There are 0 multi-indices and 0 coefficients"),
        (((1,),), (1.0, 2.0), "There are 1 multi-indices and 2 coefficients"),
        (((1,),), (math.nan,), "give finite numbers only"),
        (((1,), (1, 2)), (1.0, 2.0), "of the same length"),
        (((1,), (1,)), (1.0, 2.0), "give different ones"),
        (((-1,),), (1.0,), "integers of at least 0"),
        (((),), (1.0,), "at least 1"),
        (((200, 101),), (1.0,), "degree was 301"),
    ],
)
def test_bad_terms_are_refused(
    degrees: tuple[tuple[int, ...], ...], coefficients: tuple[float, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MultiHermite(degrees, coefficients)


def test_bad_calls_are_refused() -> None:
    g = MultiHermite(((1, 1),), (1.0,))
    calls = {
        r"shape \(3, 1\); give 2 coordinates": lambda: g(np.zeros((3, 1))),
        r"shape \(1, 3\); give 2 coordinates": lambda: g.contract(2, np.zeros((1, 3))),
        "give 0 to 31": lambda: g.tensor(MAX_TENSOR_ORDER + 1),
        "order -1 was asked for; give 0 to 170": lambda: g.contract(-1, np.zeros((1, 2))),
        "order 171 was": lambda: g.contract(MAX_ORDER + 1, np.zeros((1, 2))),
        "give k >= 1": lambda: g.contract_to_vector(0, np.zeros((1, 2))),
        "2 and 1 variables were added": lambda: g + MultiHermite(((1,),), (1.0,)),
        "zero function cannot": lambda: (0.0 * g).normalised(),
        "lowest degree was 3 and the highest 2": lambda: drawn(0, 2, 2, lowest=3),
        "function of 0 variables": lambda: MultiHermite.from_function(np.sum, 0, 2),
        "degree was 301": lambda: MultiHermite.from_function(np.sum, 1, 301),
        "rule of 3 nodes was asked for at degree 3": lambda: MultiHermite.from_function(g, 2, 3, 3),
        f"has 1.68e\\+07 points and {MAX_POINTS} are": lambda: MultiHermite.from_function(g, 6, 15),
        r"returned shape \(\) of type": lambda: MultiHermite.from_function(np.sum, 1, 2),
        "not finite at z = ": lambda: MultiHermite.from_function(
            lambda z: np.where(z[:, 0] > 2, np.inf, 0), 1, 2
        ),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_a_tensor_too_large_is_refused() -> None:
    r = 200
    order = math.ceil(math.log(available_memory(), r)) + 1
    g = MultiHermite(((order, *[0] * (r - 1)),), (1.0,))
    with pytest.raises(MemoryError, match=f"tensor of order {order} in 200 axes needs"):
        g.tensor(order)
