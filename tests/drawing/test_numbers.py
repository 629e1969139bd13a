"""How numbers are written, and the examples of the drawing layer."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import gradfeat.drawing
from gradfeat.drawing.numbers import count, listed, number


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(gradfeat.drawing.__path__)])
def test_docstring_examples_print_what_they_say(name):
    module = importlib.import_module(f"gradfeat.drawing.{name}")
    assert doctest.testmod(module).failed == 0


def test_words_for_numbers():
    assert number(0.0) == "0.000"
    assert number(float("-inf")) == "−∞"
    assert listed([]) == ""
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert (count(1, "class"), count(2_000, "class")) == ("1 class", "2,000 classes")
