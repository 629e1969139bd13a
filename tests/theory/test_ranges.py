"""Numbers outside a formula's range get a sentence: edges, nan, infinity, empty lists, names."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.maths.activations import CentredReLU
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.committee import committee_error, committee_flow, committee_path
from gradfeat.theory.finite_step_errors import finite_step_errors, finite_step_share
from gradfeat.theory.generative_exponent import label_strengths
from gradfeat.theory.head_law import HeadLaw
from gradfeat.theory.input_spectra import gaussian_law
from gradfeat.theory.kernel_curve import ridge_risk
from gradfeat.theory.kernel_flow import kernel_growth_bound, lazy_loss
from gradfeat.theory.one_step_errors import limit_errors
from gradfeat.theory.one_step_spectrum import feature_spectrum, first_layer_outlier
from gradfeat.theory.online_sgd import SphereSGD, step_size, time_exponent
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.rfm_rounds import rfm_rounds, round_exponent
from gradfeat.theory.ridge_errors import learned_shares
from gradfeat.theory.teacher import Teacher
from gradfeat.theory.zonal_spectrum import zonal_spectrum

ONE, NONE = np.ones((1, 1)), np.zeros((1, 1))
SGD = SphereSGD(3, 64, 0.01)
SETTING = (0.5, 0.7, 0.01, CentredReLU(), Teacher.single((0.0, 1.0, 0.5)))
LISTS = ([], 5.0, [5, 1], [-1, 2], [0, math.nan], [0, math.inf])


@pytest.mark.parametrize("steps", LISTS)
def test_times_that_do_not_rise_are_refused(steps):
    for call in (
        lambda: SGD.path(0.1, steps),
        lambda: committee_path(ONE, NONE, ONE, 1.0, steps),
    ):
        with pytest.raises(ValueError, match="give a list of finite numbers rising from 0"):
            call()


def test_the_first_time_may_be_the_only_one():
    assert SGD.path(0.1, [0]).tolist() == [0.1]
    assert committee_path([1.0], [0.0], [1.0], 1.0, [0]).Q.tolist() == [[[1.0]]]


@pytest.mark.parametrize("overlap", [2.0, -1.5, math.nan])
def test_overlaps_are_between_minus_one_and_one(overlap):
    for call in (SGD.signal, SGD.moments, lambda m: SGD.path(m, [0, 1])):
        with pytest.raises(ValueError, match=r"give (an overlap|overlaps) from -"):
            call(overlap)


@pytest.mark.parametrize(
    ("Q", "R"),
    [(-2.0, 0.0), (math.nan, 0.0), (math.inf, 0.0), (1.0, 5.0), (1.0, math.nan)],
)
def test_overlaps_that_no_weights_have_are_refused(Q, R):
    for call in (committee_error, lambda *C: committee_flow(*C, 1.0)):
        with pytest.raises(ValueError, match="not the overlaps of weights"):
            call([[Q]], [[R]], [[1.0]])


def share(degrees: tuple[int, ...], c: float, eta: float = 1.0, n: float = 900.0) -> np.ndarray:
    return finite_step_share(*SETTING, part=MultiHermite((degrees,), (c,)), eta=eta, n=n)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SphereSGD(2.5, 64, 0.1), "whole numbers k from 2 to 6"),
        (lambda: SphereSGD(2, math.inf, 0.1), "whole numbers k from 2 to 6"),
        (lambda: step_size(0, 64, 0.1), "k is 0: give a finite number above 0"),
        (lambda: step_size(2, 0, 0.1), "d is 0: give a finite number above 0"),
        (lambda: step_size(2, 64, math.nan), "c is nan: give a finite number above 0"),
        (lambda: step_size(2, 64, 0.1, -1.0), "smoothing is -1.0: give a finite"),
        (lambda: time_exponent(math.nan), "exponent was nan"),
        (lambda: committee_flow(ONE, NONE, ONE, -1.0), "eta is -1.0: give a finite"),
        (lambda: committee_flow(ONE, NONE, ONE, 1.0, math.nan), "noise is nan: give a finite"),
        (lambda: committee_path(ONE, NONE, ONE, math.nan, [0, 1]), "eta is nan: give a number"),
        (lambda: label_strengths(np.sign, 1.5), "k_max is 1.5: give a whole"),
        (lambda: HeadLaw.of_moments(()), "2 k of 4 or more"),
        (lambda: HeadLaw.of_moments((0, 1, 0)), "2 k of 4 or more"),
        (lambda: HeadLaw.of_moments((0, 1, 0, 0.5)), "No law has the moments"),
        (lambda: Teacher.of_function(np.ravel, 1, 3, -1.0), "noise is -1.0: give a finite"),
        (lambda: lazy_loss(np.abs, 20, math.nan, 1.0), "n is nan: give a finite number above 0"),
        (lambda: lazy_loss(np.abs, 20, 100, 1.0, -1.0), "noise is -1.0: give a finite"),
        (lambda: kernel_growth_bound(-3, 1.0, 1.0), "d is -3: give a finite number above 0"),
        (
            lambda: kernel_growth_bound(8, [1.0, math.nan], 1.0),
            "scale is nan: give a finite number above 0",
        ),
        (lambda: kernel_growth_bound(8, 1.0, -1.0), "size is -1.0: give a finite"),
        (lambda: round_exponent(0.5), "t is 0.5: give a whole number"),
        (lambda: share((1,), 0.0), "give a function of the target's 1 directions"),
        (lambda: share((1, 0), 1.0), "give a function of the target's 1 directions"),
        (lambda: share((1,), 1.0, eta=-1.0), "The step size is -1.0: give a finite number"),
        (lambda: share((1,), 1.0, n=0.0), "n is 0.0: give rows above 0"),
    ],
)
def test_numbers_outside_their_range_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: limit_errors(*SETTING, degree=1, rows="x"),
        lambda: finite_step_errors(*SETTING, eta=1.0, n=1000, rows="x"),
        lambda: reused_sample_errors(*SETTING, eta=1.0, n=1000, rows="x"),
        lambda: feature_spectrum(0.5, 0.7, *SETTING[3:], eta=1.0, n=1000, rows="x"),
    ],
)
def test_a_law_of_first_rows_that_is_not_known_is_refused(call):
    with pytest.raises(ValueError, match="rows is 'x': give one of 'gaussian', 'sphere'"):
        call()


def product(u: np.ndarray) -> np.ndarray:
    return u[:, 0] * u[:, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Teacher.single((0.0, 1e200)),
        lambda: Teacher.single((0.0, 1.0), 1e200),
        lambda: finite_step_errors(0.5, 0.7, 1e-300, *SETTING[3:], eta=1.0, n=900),
        lambda: finite_step_errors(0.5, 0.7, 0.01, *SETTING[3:], eta=1.0, n=900, gradient_phi=0.0),
        lambda: share((1,), 1.0, n=math.inf),
        lambda: first_layer_outlier(0.5, 0.0, *SETTING[3:], eta=1.0),
        lambda: first_layer_outlier(0.5, 0.7, *SETTING[3:], eta=[1.0, math.nan]),
        lambda: learned_shares(*SETTING[:4], 0),
        lambda: gaussian_law(np.sin, 2, 8, math.nan),
        lambda: ridge_risk(zonal_spectrum(np.exp, 6, 5), (0.0, 1.0), 9, ridge=math.inf),
        lambda: ridge_risk(zonal_spectrum(np.exp, 6, 5), (0.0, 1.0), 9, ridge=1, noise=math.nan),
        lambda: rfm_rounds(product, 2, 99.5, 900, 10.0),  # pyright: ignore[reportArgumentType]
        lambda: rfm_rounds(product, 2, 99, 900, 10.0, rounds=-1),
        lambda: rfm_rounds(lambda u: product(u) + 1, 2, 99, 900, 10.0),
        lambda: rfm_rounds(lambda u: 0 * u[:, 0], 2, 99, 900, 10.0),
    ],
)
def test_outside_the_regime_is_a_sentence(call):
    with pytest.raises(ValueError, match=r"give .*\."):
        call()


def test_a_large_step_on_fresh_rows_is_beyond_the_theory():
    found = finite_step_errors(*SETTING, eta=[9.0, 1e12], n=900)
    assert np.isnan(found.test_error).tolist() == [False, True]


def test_a_step_of_sqrt_n_on_reused_rows_is_beyond_the_theory():
    found = reused_sample_errors(*SETTING, eta=[9.0, 30.0], n=900)
    assert np.isnan(found.test_error).tolist() == [False, True]
