"""The rules see what they are there for."""

from __future__ import annotations

import ast
import sys

import pytest
from house_tree import ROOT, SRC, circles, imported, modules
from rules import _asks_for_type, _is_one_armed, _pattern
from tighten import _counts


def test_circles_are_found_and_lines_are_none():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}
    assert circles({name: frozenset(to) for name, to in graph.items()}) == [["a", "b", "c"]]


def test_imports_are_followed_into_functions_and_packages():
    assert "gradfeat.estimators" in imported("gradfeat")
    assert "gradfeat.estimators" not in imported("gradfeat", types_too=False)
    assert "gradfeat.interface.compare" in imported("gradfeat.cli.table.commands")
    assert all(not name.startswith("gradfeat.tests") for name in modules())


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("isinstance(x, int)", True),
        ("hasattr(x, 'fit')", True),
        ("'fit' in vars(x)", True),
        ("dict(vars(x))", False),
        ("match x:\n case int(): pass", True),
        ("match x:\n case Point(x=0): pass", False),
        ("match x:\n case 'ridge': pass", False),
        ("x.isinstance(3)", False),
    ],
)
def test_asking_for_a_type(code: str, asks: bool):
    assert any(_asks_for_type(node) for node in ast.walk(ast.parse(code))) == asks


@pytest.mark.parametrize(
    ("code", "one"),
    [
        ("match x:\n case 1: pass", True),
        ("match x:\n case 1: pass\n case _: pass", True),
        ("match x:\n case 1: pass\n case 2: pass", False),
        ("match x:\n case 1: pass\n case other: pass", True),
    ],
)
def test_one_armed(code: str, one: bool):
    assert any(_is_one_armed(node) for node in ast.walk(ast.parse(code))) == one


def test_words_are_found_across_lines_and_names_alone():
    assert _pattern("passed over").search("rows that are Passed\n    over")
    assert not _pattern("Look").search("Look at Looks, self.Look")
    assert _pattern("Look").search("x: Look = 3")
    assert _pattern("Look").search("seen = Look()")


def test_counts_follow_a_file_that_moved():
    assert _counts(["a/one.py:f 2", "b/two.py:f 1", "a/one.py"]) == {"f": 3, "one.py": 1}


def test_planted_errors_have_their_place_and_their_tests():
    sys.path.insert(0, str(ROOT / "tools"))
    from mutations import MUTATIONS

    sys.path.remove(str(ROOT / "tools"))
    for planted in MUTATIONS:
        text = (SRC / "gradfeat" / planted.file).read_text(encoding="utf-8")
        assert text.count(planted.old) == 1, planted.what
        assert all((ROOT / test).exists() for test in planted.tests), planted.what
