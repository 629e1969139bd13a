"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import gradfeat

MODULES = [
    found.name
    for found in pkgutil.walk_packages(gradfeat.__path__, "gradfeat.")
    if not found.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_what_they_say(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
