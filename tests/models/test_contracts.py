"""Every learner in the list, and what it returns, through the same contracts."""

from __future__ import annotations

from functools import partial

import pytest

import contracts
from contracts import (
    EQUIVARIANT,
    LEARNER_CHECKS,
    LEARNERS,
    NETS,
    PREDICTOR_CHECKS,
    SINGLE,
    check_gradient_is_the_derivative,
    check_predictions_scale_with_targets,
    data,
)
from gradfeat.rows.rows import in_memory


@pytest.mark.parametrize("check", PREDICTOR_CHECKS)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_predictor(learner, check):
    check(learner.fit(in_memory(data().X, data().y, data().w)))


@pytest.mark.parametrize("check", LEARNER_CHECKS)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_learner(learner, check):
    check(learner)


@pytest.mark.parametrize("learner", EQUIVARIANT, ids=repr)
def test_scale_of_targets(learner):
    check_predictions_scale_with_targets(learner)


@pytest.mark.parametrize("learner", NETS, ids=repr)
def test_gradient_of_networks(learner):
    check_gradient_is_the_derivative(learner.fit(in_memory(data().X, data().y)))


one_output = partial(data, c=1)


@pytest.mark.parametrize("learner", SINGLE, ids=repr)
class TestLearnersOfOneOutput:
    @pytest.fixture(autouse=True)
    def _one_output(self, monkeypatch):
        monkeypatch.setattr(contracts, "data", one_output)

    @pytest.mark.parametrize("check", PREDICTOR_CHECKS)
    def test_predictor(self, learner, check):
        one = one_output()
        check(learner.fit(in_memory(one.X, one.y, one.w)))

    @pytest.mark.parametrize("check", LEARNER_CHECKS)
    def test_learner(self, learner, check):
        check(learner)

    def test_scale_of_targets(self, learner):
        check_predictions_scale_with_targets(learner)

    def test_gradient(self, learner):
        check_gradient_is_the_derivative(learner.fit(in_memory(one_output().X, one_output().y)))
