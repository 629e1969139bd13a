"""How numbers are written, and the examples of the drawing layer."""

from __future__ import annotations

from gradfeat.wording import counted, listed, number


def test_words_for_numbers():
    assert number(0.0) == "0.000"
    assert number(float("-inf")) == "−∞"
    assert listed([]) == ""
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert (counted(1, "class"), counted(2_000, "class")) == ("1 class", "2,000 classes")
