"""How often the checker of annotations checks: the first calls of each test, constructors too."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import typecheck


@pytest.fixture
def counted(monkeypatch):
    """What the checker is asked, with three checks a test."""
    asked = []

    def noted(fn, *, typechecker):  # noqa: ARG001
        def checked(*args, **kwargs):
            asked.append(fn.__name__)
            return fn(*args, **kwargs)

        return checked

    monkeypatch.setattr(typecheck, "every_call", noted)
    monkeypatch.setattr(typecheck.budget, "calls", 3)
    return asked


def test_functions_properties_methods_and_constructors_are_checked_a_few_times(counted):
    checked = typecheck.first_calls(typechecker=None)

    @checked
    @dataclass
    class Point:
        x: float

        @property
        def double(self) -> float:
            return 2 * self.x

        @classmethod
        def origin(cls) -> Point:
            return cls(0.0)

    @dataclass
    class Named(Point):
        name: str = "a"

    Point.double = checked(Point.double)
    Point.origin = checked(vars(Point)["origin"])
    found = [checked(Named)(float(i)).double for i in range(9)]
    assert found == [2.0 * i for i in range(9)]
    assert [Point.origin() for _ in range(9)] == [Point(0.0)] * 9
    assert {name: counted.count(name) for name in counted} == {
        "__init__": 6,  # three of each class
        "double": 3,
        "origin": 3,
    }
    typecheck.budget.begin_test()
    Point(1.0)
    assert counted.count("__init__") == 7
