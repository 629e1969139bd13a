"""The source as syntax trees: files and what they import. Nothing of it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SRC: Final = ROOT / "src"
NAME: Final = "gradfeat"


@dataclass(frozen=True)
class Module:
    """A file of ours."""

    name: str
    path: Path

    @property
    def file(self) -> str:
        """Path from the package on, e.g. maths/ridge.py."""
        return self.path.relative_to(SRC / NAME).as_posix()

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))


@cache
def modules() -> dict[str, Module]:
    """All files, by their dotted names."""
    found = {}
    for path in sorted((SRC / NAME).rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path)
    return found


@dataclass(frozen=True)
class Import:
    """`from source import name as local`; without a name, `import source as local`."""

    source: str
    name: str | None
    local: str

    @property
    def module(self) -> str | None:
        """The module of ours that is imported or imported from."""
        inside = f"{self.source}.{self.name}"
        if self.name is not None and inside in modules():
            return inside
        return self.source if self.source in modules() else None


def imports(module: Module, within: ast.AST | None = None) -> Iterator[Import]:
    """Imports of ours in a file, those in functions and under TYPE_CHECKING too, or in a part."""
    for node in module.nodes if within is None else ast.walk(within):
        yield from _imports_of(module, node)


def _imports_of(module: Module, node: ast.AST) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for one in names:
                if one.name.split(".")[0] == NAME:
                    yield Import(one.name, None, one.asname or one.name)
        case ast.ImportFrom(module=source, names=names, level=level):
            full = _absolute(module, source, level)
            if full.split(".")[0] == NAME:
                for one in names:
                    yield Import(full, one.name, one.asname or one.name)


def _absolute(module: Module, source: str | None, level: int) -> str:
    if not level:
        return source or ""
    parts = module.name.split(".")
    package = parts[: len(parts) - level + module.is_package]
    return ".".join([*package, *([source] if source else [])])


def _for_types_only(module: Module) -> set[ast.AST]:
    """Nodes under `if TYPE_CHECKING:`, which never run."""
    found: set[ast.AST] = set()
    for node in module.nodes:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                found.update(one for part in body for one in ast.walk(part))
    return found


@cache
def imported(name: str, *, types_too: bool = True) -> frozenset[str]:
    """Modules that a module imports, without itself."""
    module = modules()[name]
    idle = set() if types_too else _for_types_only(module)
    found = {
        one.module for node in module.nodes if node not in idle for one in _imports_of(module, node)
    }
    return frozenset(other for other in found if other and other != name)


@cache
def importers() -> dict[str, list[str]]:
    """Of each module, the modules that import it, for types only too."""
    found: dict[str, list[str]] = {name: [] for name in modules()}
    for name in modules():
        for other in imported(name):
            found[other].append(name)
    return found


def circles(graph: dict[str, frozenset[str]]) -> list[list[str]]:
    """Groups of two or more nodes that reach each other (Tarjan 1972, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for start in graph:
        if start in number:
            continue
        work = [(start, iter(graph[start]))]
        number[start] = low[start] = len(number)
        stack.append(start)
        while work:
            node, rest = work[-1]
            child = next(rest, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    found += [sorted(group)] if len(group) > 1 else []
            elif child not in number:
                number[child] = low[child] = len(number)
                stack.append(child)
                work.append((child, iter(graph[child])))
            elif child in stack:
                low[node] = min(low[node], number[child])
    return found
