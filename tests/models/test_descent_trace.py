"""Measures are those of the predictors after the steps named."""

from __future__ import annotations

import pytest
import torch

from gradfeat.models.descent.gradient_descent import GradientDescent
from gradfeat.models.descent.loop import trace
from gradfeat.models.descent.phases import Phase
from gradfeat.rows.rows import in_memory

X = torch.linspace(-1, 1, 12).double()[:, None]
LEARNER = GradientDescent(8, phases=(Phase(5, 0.1),))


def size(f) -> float:
    return float(f.W.norm())


def error(f) -> float:
    return float((f(X) - X.abs()).square().mean())


def test_every_step_has_the_measures_of_its_own_predictor():
    found = trace(LEARNER.fit_path(in_memory(X, X.abs())), {"size": size, "error": error})
    path = list(LEARNER.fit_path(in_memory(X, X.abs())))
    assert found["step"].tolist() == [1, 2, 3, 4, 5]
    assert found["size"].tolist() == [size(f) for f in path]
    assert found["error"].tolist() == [error(f) for f in path]


def test_chosen_steps_are_taken_alone_and_steps_never_reached_are_left_out():
    whole = trace(LEARNER.fit_path(in_memory(X, X.abs())), {"error": error})
    found = trace(LEARNER.fit_path(in_memory(X, X.abs())), {"error": error}, at=[2, 5, 9])
    assert found["step"].tolist() == [2, 5]
    assert found["error"].tolist() == whole["error"][[1, 4]].tolist()


def test_a_measure_may_not_take_the_name_of_the_steps():
    with pytest.raises(ValueError, match="call it otherwise"):
        trace([], {"step": error})
