"""What is predicted where a step writes no direction, and where nothing is left to learn."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.maths.activations import CentredReLU, Polynomial, ReLU, Tanh
from gradfeat.maths.polynomial_text import polynomial
from gradfeat.theory.finite_step_errors import finite_step_errors
from gradfeat.theory.one_step_errors import column_errors, limit_errors
from gradfeat.theory.predicted_errors import predict_error
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.ridge_errors import RidgeErrors, random_feature_errors
from gradfeat.theory.teacher import Teacher

PHI, PSI, LAM, SIGMA = 0.5, 2 / 3, 0.05, CentredReLU()
CUBIC = Teacher.single((0.0, 1.0, 0.5, 0.3), noise=0.5)


def parts(found: RidgeErrors) -> np.ndarray:
    return np.array([found.training_loss, found.training_error, found.test_error])


def test_a_step_without_a_direction_changes_nothing_in_the_limit():
    square, n = Polynomial((-1.0, 0.0, 1.0)), 10**10  # c_1 = 0
    plain = random_feature_errors(PHI, PSI, LAM, square, CUBIC)
    found = limit_errors(PHI, PSI, LAM, square, CUBIC, degree=[1, 2, 3])
    for place in range(3):
        np.testing.assert_array_equal(parts(found)[:, place], parts(plain))
    near = finite_step_errors(PHI, PSI, LAM, square, CUBIC, eta=n**0.3, n=n)
    # what is left is (eta a)^2 times |w_j'|^2 beyond 1, n^-0.4 = 1e-4 of it
    np.testing.assert_allclose(parts(near), parts(plain), rtol=1e-3)
    told = predict_error(PHI, PSI, square, CUBIC, n=1000, alpha=0.3)
    assert "c_1 is 0" in told.regime
    assert np.isnan(told.alignment)


@pytest.mark.parametrize(
    ("alpha", "gradient_phi", "said"), [(0.5, 2.0, True), (0.3, 2.0, False), (0.5, 0.5, False)]
)
def test_few_rows_of_the_gradient_are_told_at_large_steps(alpha, gradient_phi, said):
    told = predict_error(
        1.0, 1.0, Tanh(), CUBIC, n=1000, alpha=alpha, gradient_phi=gradient_phi
    ).regime
    assert ("0.5 times the inputs" in told) == said
    assert ("2 to 4 % above" in told) == said


def test_the_best_linear_model_of_a_linear_target_has_no_error():
    plane = Teacher(polynomial("x1 + x2"))  # 2 - sqrt(2)^2 rounds to less than 0
    assert predict_error(PHI, PSI, SIGMA, plane, n=1000, alpha=0.2).best_linear == 0


def test_a_target_of_zeros_has_no_error_and_no_prediction():
    zero = Teacher.single((0.0,))
    np.testing.assert_array_equal(
        parts(limit_errors(PHI, PSI, LAM, SIGMA, zero, degree=[0, 1, 2])), 0.0
    )
    np.testing.assert_array_equal(
        parts(column_errors(PHI, PSI, LAM, SIGMA, zero, powers=[0, 1])), 0.0
    )
    for activation, teacher in ((SIGMA, zero), (ReLU(), Teacher.single((0.3,)))):
        with pytest.raises(ValueError, match="give a target that varies, or noise"):
            predict_error(PHI, PSI, activation, teacher, n=1000, alpha=0.2)
    with pytest.raises(ValueError, match="noise has shape"):
        predict_error(PHI, PSI, SIGMA, Teacher.single((0.0, 1.0), [0.0, 1.0]), n=1000, alpha=0.2)
    with pytest.raises(ValueError, match="psi 0: give d/n and d/N"):
        predict_error(PHI, 0, SIGMA, CUBIC, n=1000, alpha=0.2)


def test_reused_rows_broadcast_to_nothing_and_learn_nothing_from_zeros():
    none = reused_sample_errors(PHI, PSI, np.zeros((0, 3)), SIGMA, CUBIC, eta=2.0, n=600)
    assert parts(none).shape == (3, 0, 3)
    carried = reused_sample_errors(
        PHI, PSI, LAM, ReLU(), Teacher.single((1.0,)), eta=2.0, n=600, intercept=True
    )
    np.testing.assert_allclose(parts(carried), 0.0, atol=1e-9)
