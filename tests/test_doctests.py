"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import gradfeat.estimators
import gradfeat.maths
import gradfeat.models
import gradfeat.tabular
import gradfeat.tasks

PACKAGES = [
    gradfeat.maths,
    gradfeat.models,
    gradfeat.tasks,
    gradfeat.estimators,
    gradfeat.tabular,
]
MODULES = [
    f"{package.__name__}.{found.name}"
    for package in PACKAGES
    for found in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_what_they_say(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
