"""A polynomial from text: its values are those of the formula; what is none gets a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.maths.polynomial_text import polynomial


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("x1 + x1*x2/2 + He2(x3)", lambda x, y, z: x + x * y / 2 + z**2 - 1),
        ("-x1^2 - -3*x3*(x2 - .5e0)", lambda x, y, z: -(x**2) + 3 * z * (y - 0.5)),
        ("He3((x1 + x2)/sqrt(2)) + 0*x3", lambda x, y, _: _he3((x + y) / 2**0.5)),
        ("2**3*x1**2*x2 + 1e-3 + x3 - x3", lambda x, y, _: 8 * x**2 * y + 1e-3),
    ],
)
def test_values_are_those_of_the_formula(text, formula):
    z = np.random.default_rng(0).standard_normal((50, 3))
    found = polynomial(text)
    np.testing.assert_allclose(found(z), formula(*z.T), rtol=1e-12, atol=1e-12)


def _he3(v):
    return v**3 - 3 * v


def test_directions_are_counted_in_the_order_of_their_numbers():
    assert polynomial("x7 + He2(x2)") == MultiHermite(((0, 1), (2, 0)), (1.0, 1.0))
    assert polynomial("3") == MultiHermite(((0,),), (3.0,))
    assert polynomial("x1 - x1").norm_squared() == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("x1 +", "cannot be read"),
        ("2 x1", r"no \* in"),
        ("0x1", r"no \* in '0x1'"),
        ("0x1 + x2", r"no \* in '0x1'"),
        ("x0", "'x0' in it"),
        ("x1/x2", "numbers after / and"),
        ("x1/0", "division by 0"),
        ("x1^13", "none of 0 to 12"),
        ("x1^0.5", "none of 0 to 12"),
        ("x1^7*x1^6", "degree above 12"),
        ("He13(x1)", "degrees up to 12"),
        ("sqrt(-1)", "sqrt"),
        ("True*x1", "'True' in it"),
        ("1e400*x1", "in it"),
        ("9" * 400, "in it"),
        ("1e155*x1", "very large"),
        ("1e150*x1^2*1e9", "very large"),
        ("x1.real", "in it"),
        ("exec(x1)", r"exec\(...\) in it"),
        ("__import__('os')", "other signs"),
        ("x1 # x2", "other signs"),
        ("x1 if 1 else 2", "in it"),
        ("x1 is x2", "in it"),
        ("not x1", "in it"),
        ("1" * 501, "at most 500 letters"),
        ("+".join(f"x{k}" for k in range(1, 10)), "8 directions"),
        ("(x1+x2+x3+x4+x5+x6+x7+x8)^12", "too many terms"),
    ],
)
def test_what_is_no_polynomial_is_one_sentence(text, words):
    with pytest.raises(ValueError, match=words) as told:
        polynomial(text)
    assert str(told.value).startswith("The polynomial ")
    assert str(told.value).endswith(".")


def test_a_product_of_series_is_the_product_of_functions():
    rng = np.random.default_rng(1)
    f, g = (MultiHermite.random(2, k, rng) for k in (3, 4))
    z = rng.standard_normal((40, 2))
    np.testing.assert_allclose(f.times(g)(z), f(z) * g(z), rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="2 and 1 variables met"):
        f.times(MultiHermite(((1,),), (1.0,)))
