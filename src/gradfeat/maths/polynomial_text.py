"""A polynomial of several directions, read from text such as `x1 + x1*x2/2 + He2(x3)`."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

import numpy as np

from .multi_hermite import MultiHermite

#: What is read: beyond, the terms are many and their factorials lose digits.
MOST_DEGREE, MOST_DIRECTIONS, MOST_LETTERS, MOST_PRODUCTS = 12, 8, 500, 2_000
#: Coefficients are below, so that their squares are finite.
LARGEST = 1e100

#: Two factors with no sign between them, 2x1.
_BARE = re.compile(r"(?:(?<![A-Za-z\d])[\d.]+\s*|\)\s*|x\d+\s+)(?:x\d+|He|sqrt|\()")

GRAMMAR = "numbers, x1, x2, ..., + - * / ^, brackets, He2(x1) and sqrt(2)"


def polynomial(text: str) -> MultiHermite:
    """The polynomial in x1, x2, ... ~ N(0, 1), independent; directions in the order of numbers.

    He_k(p) is the Hermite polynomial of any polynomial p; / divides by a number, ^ raises to a
    whole one, sqrt is of a number.
    Raises ValueError where the text is no polynomial, or one too large.

    >>> polynomial("x1 + x1*x2/2 + He2(x2)")
    MultiHermite(degrees=((1, 0), (1, 1), (0, 2)), coefficients=(1.0, 0.5, 1.0))
    >>> polynomial("(x1 + x3)^2/2").coefficients  # x1^2 = He_2 + 1
    (1.0, 0.5, 1.0, 0.5)
    """
    axes = sorted({int(k) for k in re.findall(r"\bx([1-9]\d{0,8})\b", text)})
    reader = _Reader(text, {f"x{k}": place for place, k in enumerate(axes)})
    if len(text) > MOST_LETTERS or len(axes) > MOST_DIRECTIONS:
        at_most = f"at most {MOST_LETTERS} letters and {MOST_DIRECTIONS} directions"
        raise reader.refused(f"{len(text):,} letters and {len(axes)} directions", at_most)
    if not re.fullmatch(r"[\w\s.+*/^()-]*", text, re.ASCII):
        raise reader.refused("other signs in it", GRAMMAR)
    if bare := _BARE.search(text):  # before Python reads 0x1 as the number 1
        raise reader.refused(f"no * in {bare[0]!r}", GRAMMAR)
    try:
        with np.errstate(all="ignore"):
            found = reader.read(ast.parse(text.strip().replace("^", "**"), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise reader.refused("what cannot be read", GRAMMAR) from None
    if not max(map(abs, found.coefficients)) < LARGEST:
        raise reader.refused("very large coefficients", f"numbers below {LARGEST:g}")
    least = 1e-12 * math.sqrt(found.norm_squared())
    kept = {a: c for a, c in zip(found.degrees, found.coefficients, strict=True) if abs(c) > least}
    return MultiHermite(tuple(kept), tuple(kept.values())) if kept else reader.constant(0.0)


@dataclass(frozen=True)
class _Reader:
    """From an expression's tree to its Hermite series; nothing of the text is run."""

    text: str
    axes: dict[str, int]

    def read(self, node: ast.expr) -> MultiHermite:
        match node:
            case ast.Constant(value=value) if re.fullmatch(r"[\d.e+-]{1,30}", str(value)):
                return self.constant(float(str(value)))
            case ast.Name(id=name) if name in self.axes:
                degrees = tuple(int(axis == self.axes[name]) for axis in range(len(self.axes)))
                return MultiHermite((degrees,), (1.0,))
            case ast.UnaryOp(op=sign, operand=part):
                return self.read(part) * self._sign(sign)
            case ast.BinOp(left=left, op=how, right=right):
                return self._joined(self.read(left), type(how).__name__, self.read(right))
            case ast.Call(func=ast.Name(id=name), args=[part], keywords=[]):
                return self._called(name, self.read(part))
        raise self.refused(f"{ast.unparse(node).replace('**', '^')[:30]!r} in it", GRAMMAR)

    def refused(self, what: str, instead: str) -> ValueError:
        return ValueError(f"The polynomial {self.text[:60]!r} has {what}: give {instead}.")

    def constant(self, value: float) -> MultiHermite:
        return MultiHermite(((0,) * max(1, len(self.axes)),), (value,))

    def _sign(self, sign: ast.unaryop) -> float:
        signs = {"UAdd": 1.0, "USub": -1.0}
        if type(sign).__name__ not in signs:
            raise self.refused("'not' or '~' in it", GRAMMAR)
        return signs[type(sign).__name__]

    def _joined(self, one: MultiHermite, how: str, other: MultiHermite) -> MultiHermite:
        match how:
            case "Add":
                return one + other
            case "Sub":
                return one + other * -1.0
            case "Mult":
                return self._times(one, other)
            case "Div" if (below := self._number(other)) != 0:
                return one * (1 / below)
            case "Pow" if (power := self._number(other)) in range(MOST_DEGREE + 1):
                found = self.constant(1.0)
                for _ in range(int(power)):
                    found = self._times(found, one)
                return found
        wrong = {"Div": "a division by 0", "Pow": f"a power that is none of 0 to {MOST_DEGREE}"}
        raise self.refused(wrong.get(how, f"a sign ({how}) that is none of these"), GRAMMAR)

    def _number(self, part: MultiHermite) -> float:
        if part.degree > 0:
            raise self.refused("a direction where a number is needed", "numbers after / and ^")
        return float(part.tensor(0))

    def _times(self, one: MultiHermite, other: MultiHermite) -> MultiHermite:
        if one.degree + other.degree > MOST_DEGREE:
            raise self.refused(f"a degree above {MOST_DEGREE}", f"at most {MOST_DEGREE}")
        if len(one.degrees) * len(other.degrees) > MOST_PRODUCTS:
            raise self.refused("too many terms", "fewer directions in brackets")
        return one.times(other)

    def _called(self, name: str, z: MultiHermite) -> MultiHermite:
        """sqrt, or He_k by He_{k+1} = z He_k - k He_{k-1}."""
        if name == "sqrt" and self._number(z) >= 0:
            return self.constant(math.sqrt(self._number(z)))
        degree = re.fullmatch(r"He_?(\d{1,2})", name)
        if degree is None or int(degree[1]) > MOST_DEGREE:
            raise self.refused(f"{name}(...) in it", f"{GRAMMAR}, degrees up to {MOST_DEGREE}")
        before, found = self.constant(0.0), self.constant(1.0)
        for k in range(int(degree[1])):
            before, found = found, self._times(z, found) + before * -float(k)
        return found
