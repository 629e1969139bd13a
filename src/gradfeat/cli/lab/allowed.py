"""What the settings of an experiment may be: read from the checks in the text of its trial."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Collection, Sequence
from typing import Any

from gradfeat.lab import Experiment
from gradfeat.lab.source import reached
from gradfeat.maths.unpacking import FOREIGN


def allowed(experiment: Experiment) -> dict[str, str]:
    """What the checks of the trial let through, in words; not what hangs on another setting."""
    found = _Checks(experiment.factors)
    for module, statements in reached(experiment.simulation, _unconditional):
        found.scope = vars(importlib.import_module(module))
        found.visit(ast.Module(list(statements), []))
    return {name: found.in_words(name) for name in experiment.factors}


def _unconditional(nodes: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """What is done whatever the settings are, and what is imported for it."""
    done = _Unconditional().visit(ast.parse(ast.unparse(ast.Module(list(nodes), []))))
    used = re.findall(r"\w+", re.sub("from .* import .*", "", ast.unparse(done)))
    return _Used(used).visit(done).body


class _Used(ast.NodeTransformer):
    """Takes out imports of other names."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | ast.Pass:
        node.names = [one for one in node.names if (one.asname or one.name) in self._names]
        return node if node.names else ast.Pass()


class _Unconditional(ast.NodeTransformer):
    """Takes out branches, and what comes after one that returns."""

    def visit_If(self, node: ast.If | ast.Match) -> ast.Pass:
        del node
        return ast.Pass()

    visit_Match = visit_If

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        body = [(part, ast.unparse(part)) for part in node.body]
        ends = [i for i, (_, text) in enumerate(body) if re.match("(?s)(if|match) .*return", text)]
        node.body = [*node.body[: min(ends, default=len(body))], ast.Pass()]
        self.generic_visit(node)
        return node


class _Checks(ast.NodeVisitor):
    """Collects calls of the checks of `gradfeat.maths.ranges` on settings by their own names."""

    def __init__(self, names: Collection[str]) -> None:
        self.scope: dict[str, Any] = {}
        self._low: dict[str, list[float]] = {name: [] for name in names}
        self._high: dict[str, list[float]] = {name: [] for name in names}
        self._words: dict[str, list[str]] = {name: [] for name in names}
        self._each: dict[str, str] = {}

    def in_words(self, name: str) -> str:
        """Of 2 or more and 9 or less: "2 to 9"."""
        low, high = max(self._low[name], default=None), min(self._high[name], default=None)
        words = list(dict.fromkeys(self._words[name]))
        if low is not None and high is not None and not words:
            return f"{low:,.15g} to {high:,.15g}"
        parts = [f"{low:,.15g} or more"] if low is not None else []
        return ", ".join(words + parts + ([f"{high:,.15g} or less"] if high is not None else []))

    def visit_For(self, node: ast.For) -> None:
        self._each[ast.unparse(node.target)] = ast.unparse(node.iter)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        check, given = ast.unparse(node.func), [*map(ast.unparse, node.args)]
        if check == "paired" and given and given[0] in self._words:
            self._words[given[0]].append("an even number")
            self._low[given[0]].append(2)
        for keyword in node.keywords if check in _CHECKS else []:
            name, value = keyword.arg or "", ast.unparse(keyword.value)
            value = re.sub(r"^self\.|^(?:min|max)\((\w+)\)$", r"\1", value)
            if name in self._words and self._each.get(value, value) == name:
                self._note(check, name, given)
        self.generic_visit(node)

    def _note(self, check: str, name: str, given: Sequence[str]) -> None:
        try:
            bounds = [eval(text, self.scope) for text in given]
            match check:
                case "at_least" | "at_most":
                    ends = self._low if check == "at_least" else self._high
                    ends[name].append(float(bounds[0]))
                case "within":
                    low, high = bounds
                    self._low[name].append(float(low))
                    self._high[name].append(float(high))
                case "one_of":
                    self._words[name].append(", ".join(map(str, bounds[0])))
                case _:
                    self._words[name].append(_CHECKS[check])
        except (NameError, SyntaxError, *FOREIGN):  # hangs on another setting, or is no bound
            return


#: Checks, and the words of those without a bound.
_CHECKS = {
    "at_least": "",
    "at_most": "",
    "within": "",
    "one_of": "",
    "positive": "above 0",
    "not_negative": "0 or more",
}
