"""Every learner in the list, and what it returns, through the same contracts."""

from __future__ import annotations

import pytest

from contracts import (
    EQUIVARIANT,
    LEARNER_CHECKS,
    LEARNERS,
    NETS,
    PREDICTOR_CHECKS,
    check_gradient_is_the_derivative,
    check_predictions_scale_with_targets,
    data,
)


@pytest.mark.parametrize("check", PREDICTOR_CHECKS)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_predictor(learner, check):
    check(learner.fit(data().X, data().y, weights=data().w))


@pytest.mark.parametrize("check", LEARNER_CHECKS)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_learner(learner, check):
    check(learner)


@pytest.mark.parametrize("learner", EQUIVARIANT, ids=repr)
def test_scale_of_targets(learner):
    check_predictions_scale_with_targets(learner)


@pytest.mark.parametrize("learner", NETS, ids=repr)
def test_gradient_of_networks(learner):
    check_gradient_is_the_derivative(learner.fit(data().X, data().y))
