"""What the text of a trial is: its own lines, and all that they use of the files beside them."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any


def digest_of(*functions: Callable[..., Any] | None) -> str:
    """SHA-256 of what the functions execute in their file and the files of its folder and below.

    Followed are names of functions, classes and constants, through imports of files there; text
    that they do not reach, comments and docstrings do not count. A function that is in no file has
    the digest of its compiled code.

    >>> def trial(n: int) -> int:
    ...     return n
    >>> def other(n: int) -> int:
    ...     return n + 1
    >>> digest_of(trial) == digest_of(trial), digest_of(trial) == digest_of(other)
    (True, False)
    """
    texts = [_text(function) for function in functions if function is not None]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _text(function: Callable[..., Any]) -> str:
    function = inspect.unwrap(function)
    try:
        own = textwrap.dedent(inspect.getsource(function))
        place = _Place(Path(inspect.getsourcefile(function) or "").resolve(), function.__module__)
        nodes, _ = ast.parse(own).body, place.text
    except (OSError, TypeError, SyntaxError):  # typed in, or a lambda in the middle of a call
        code = function.__code__
        return repr((code.co_code, code.co_names, [str(c) for c in code.co_consts]))
    reach = _Reach(place.file.parent)
    reach.follow(place, nodes)
    return "\0".join(
        [_plain(nodes), *(f"{key}:{text}" for key, text in sorted(reach.found.items()))]
    )


@dataclass(frozen=True)
class _Place:
    """A file and the name that it is imported by."""

    file: Path
    module: str

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def parent(self, level: int) -> str:
        """The package that `level` dots stand for."""
        return ".".join(self.module.split(".")[:-level])


@dataclass(frozen=True)
class _Import:
    """``from module import name`` or, without a name, ``import module``; bound to `bound`."""

    bound: str
    module: str
    name: str | None
    level: int = 0


class _Imports(ast.NodeVisitor):
    """Gathers what is imported, at any depth of a statement."""

    def __init__(self) -> None:
        self.imports: list[_Import] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self.imports.append(_Import(bound, alias.name, None))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            found = _Import(alias.asname or alias.name, node.module or "", alias.name, node.level)
            self.imports.append(found)


class _Used(_Imports):
    """Gathers the names that stand in a statement too, wherever they are bound."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        super().__init__()
        self.names: set[str] = set()
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)


class _Bound(_Imports):
    """Gathers the names that a statement binds where it stands, at any depth of `if` and `try`."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.add(node.name)

    def _own(self, node: ast.AST) -> None:
        """A scope of its own binds nothing here."""

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _own


class _Plain(ast.NodeTransformer):
    """Takes docstrings out of functions and classes, at any depth."""

    def _undocumented(self, node: Any) -> Any:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _undocumented


def _plain(nodes: Iterable[ast.stmt]) -> str:
    copies = (ast.parse(ast.unparse(node)) for node in nodes)
    return "\n".join(ast.unparse(_Plain().visit(copy)) for copy in copies)


@dataclass(frozen=True)
class _Contents:
    """Statements and imports at the top of a file, by the names that they bind."""

    statements: dict[str, list[ast.stmt]]
    imports: dict[str, list[_Import]]


@functools.lru_cache(256)
def _contents(text: str) -> _Contents:
    found = _Contents({}, {})
    for node in ast.parse(text).body:
        bound = _Bound(node)
        for one in bound.imports:
            found.imports.setdefault(one.bound, []).append(one)
        for name in bound.names:
            found.statements.setdefault(name, []).append(node)
    return found


class _Reach:
    """The text that is used, by file and name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.found: dict[tuple[str, str], str] = {}

    def follow(self, place: _Place, nodes: Iterable[ast.stmt]) -> None:
        """Add what the nodes use, and what that uses."""
        used = _Used(nodes)
        for name in sorted(used.names):
            self._add(place, name)
        for one in used.imports:
            self._imported(place, one)

    def _add(self, place: _Place, name: str) -> None:
        key = (place.file.relative_to(self._folder).as_posix(), name)
        if key in self.found:
            return
        contents = _contents(place.text)
        nodes = contents.statements.get(name, [])
        self.found[key] = _plain(nodes)
        self.follow(place, nodes)
        for one in contents.imports.get(name, []):
            self._imported(place, one)

    def _imported(self, place: _Place, one: _Import) -> None:
        """Follow an import to a name in a file of the folder, or to all of a file."""
        parts = [place.parent(one.level)] if one.level else []
        base = ".".join([*parts, *filter(None, [one.module])])
        whole = base if one.name is None else f"{base}.{one.name}"
        if (inside := self._beside(whole)) is not None:
            contents = _contents(inside.text)
            for name in [*contents.statements, *contents.imports]:
                self._add(inside, name)
        elif one.name is not None and (inside := self._beside(base)) is not None:
            self._add(inside, one.name)

    def _beside(self, module: str) -> _Place | None:
        """The file of a module, where it is in the folder or below."""
        spec = _found(module)
        if spec is None or not (spec.origin or "").endswith(".py"):
            return None
        file = Path(spec.origin or "").resolve()
        return _Place(file, module) if file.is_relative_to(self._folder) else None


def _found(module: str) -> ModuleSpec | None:
    """Where a module is; packages above it are not imported, which `find_spec` would do."""
    top, *names = module.split(".")
    try:
        spec = importlib.util.find_spec(top) if top else None
    except (ImportError, ValueError):
        return None
    for depth, _ in enumerate(names, start=1):
        if spec is None:
            return None
        name = ".".join([top, *names[:depth]])
        spec = PathFinder.find_spec(name, spec.submodule_search_locations or [])
    return spec
