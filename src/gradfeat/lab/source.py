"""What the text of a trial is: its own lines, and all that they reach in the files beside them."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import symtable
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

#: Refuses settings, in statements that have no other effect.
CHECKS = "gradfeat.maths.ranges"


def digest_of(*functions: Callable[..., Any] | None) -> str:
    """SHA-256 of what the functions execute in their file and the files of its folder and below.

    Followed are global names of functions, classes and constants, through imports of files there.
    Text that they do not reach, comments, docstrings and the names of files do not count: what is
    moved to another file there is the same. Nor do checks of `gradfeat.maths.ranges`: what they let
    through they do not change, and the names that they allow are often those of a figure. Of what
    other packages give, the name and the package count. A function in no file has the digest of its
    compiled code.

    >>> def trial(n: int) -> int:
    ...     return n
    >>> def other(n: int) -> int:
    ...     return n + 1
    >>> digest_of(trial) == digest_of(trial), digest_of(trial) == digest_of(other)
    (True, False)
    """
    texts = [_text(function) for function in functions if function is not None]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


#: What of statements is followed.
Reduce = Callable[[Sequence[ast.stmt]], Sequence[ast.stmt]]


def reached(function: Callable[..., Any], reduce: Reduce) -> list[tuple[str, Sequence[ast.stmt]]]:
    """What a function in a file reaches, as :func:`digest_of` follows it: modules and statements.

    Followed is what `reduce` leaves of the statements of a file, a definition or a constant.
    """
    reach, source = _Reach(_file_of(function).parent, reduce), inspect.unwrap(function)
    nodes = ast.parse(textwrap.dedent(inspect.getsource(source))).body
    reach.follow(_Place(_file_of(function), function.__module__), nodes)
    return reach.found


def _text(given: Any, seen: frozenset[int] = frozenset()) -> str:
    """Of a callable: its own text, that of what it wraps, and what it was given before a call."""
    if id(given) in seen:
        return ""
    seen |= {id(given)}
    match given:
        case functools.partial(func=function, args=args, keywords=named):
            return _text(function, seen) + _given({**dict(enumerate(args)), **named}, seen)
        case types.MethodType(__self__=owner, __name__=name):
            kind = owner if inspect.isclass(owner) else type(owner)
            return f"{_own_text(kind, given)}\0{name}{_given(owner.__dict__, seen)}"
    if not inspect.isroutine(given):
        return _text(given.__call__, seen)
    text = _function_text(given, seen) if inspect.isfunction(given) else ""
    return text + _text(getattr(given, "__wrapped__", given), seen)


def _function_text(function: types.FunctionType, seen: frozenset[int]) -> str:
    closed = _given(inspect.getclosurevars(function).nonlocals, seen)
    lambdas = _compiled(function.__code__) if function.__name__ == "<lambda>" else ""  # on one line
    return _own_text(function.__code__, function) + closed + lambdas


def _given(values: Mapping[Any, Any], seen: frozenset[int]) -> str:
    """The numbers, words, tuples of them and functions that something has from what made it."""
    own = sorted(values.items(), key=lambda item: str(item[0]))
    functions = {name: _text(v, seen) for name, v in own if inspect.isfunction(v)}
    literal = {name: f" = {v!r}" for name, v in own if _is_literal(v)}
    return "".join(f"\0{name}{text}" for name, text in (functions | literal).items())


def _is_literal(value: Any) -> bool:
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError):
        return False
    return True


def _own_text(source: Any, function: Any) -> str:
    """What statements of a class or of compiled code reach; the code, where it is in no file."""
    try:
        nodes = ast.parse(textwrap.dedent(inspect.getsource(source))).body
        file = _file_of(source)
    except (OSError, TypeError, SyntaxError):  # typed in, an example, a lambda within a call
        return _compiled(function.__code__)
    reach = _Reach(file.parent, lambda nodes: nodes)
    reach.follow(_Place(file, function.__module__), nodes)
    return "\0".join(reach.texts)


def _file_of(source: Any) -> Path:
    return Path(inspect.getsourcefile(source) or "<no file>").resolve(strict=True)


def _compiled(code: types.CodeType) -> str:
    """Instructions, names and constants; of code within, its own."""
    inner = {id(c): _compiled(c) for c in code.co_consts if inspect.iscode(c)}
    constants = [inner.get(id(c), str(c)) for c in code.co_consts]
    return repr((code.co_code, code.co_names, constants))


@dataclass(frozen=True)
class _Import:
    """``from module import name`` or, without a name, ``import module``; bound to `bound`."""

    bound: str
    module: str
    name: str | None


@dataclass(frozen=True)
class _Place:
    """A file and the name that it is imported by."""

    file: Path
    module: str

    @property
    def contents(self) -> _Contents:
        return _contents(self.file.read_text(encoding="utf-8"))

    def absolute(self, one: _Import) -> str:
        """The module of an import here, without dots before it."""
        is_package = self.file.name == "__init__.py"
        package = self.module if is_package else self.module.rpartition(".")[0]
        return importlib.util.resolve_name(one.module, package)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _Imports(ast.NodeVisitor):
    """Gathers what statements import, at any depth."""

    def __init__(self, nodes: Sequence[ast.stmt]) -> None:
        self.names: set[str] = set()
        self.called: set[str] = set()  # for what they change
        self.imports: list[_Import] = []
        for node in nodes:
            self.visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self.imports.append(_Import(bound, alias.name, None))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            self.imports.append(_Import(alias.asname or alias.name, module, alias.name))


class _Bound(_Imports):
    """And what they bind or may change where they stand, at any depth of `if` and `try`."""

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call for its effect may change all that it names."""
        self.names |= (names := _global_names([node]))
        self.called |= names

    def _changed(self, node: Any) -> None:
        """A new value, or a new part of one: `A = 1`, `A[k] = 1`, `for A in ...`."""
        targets = node.targets if "targets" in node._fields else [node.target]
        self.names |= _global_names([ast.Expr(target) for target in targets])
        self.generic_visit(node)

    visit_Assign = visit_AugAssign = visit_AnnAssign = visit_For = _changed

    def visit_FunctionDef(self, node: _Definition) -> None:
        self.called |= _global_names([ast.Expr(one) for one in node.decorator_list])

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def _own(self, node: ast.AST) -> None:
        """A scope of its own binds nothing here."""

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _own


def _assigned(node: ast.stmt) -> set[str]:
    """The names that a statement of a file binds, by `with`, `match` and `:=` too."""
    table = symtable.symtable(ast.unparse(node), "trial", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() and not s.is_imported()}


def _global_names(nodes: Sequence[ast.stmt]) -> set[str]:
    """The names in statements of a file that stand for what is bound in the file."""
    text = ast.unparse(ast.Module(list(nodes), []))
    return set(_globals(symtable.symtable(text, "trial", "exec")))


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() if top else symbol.is_global():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)


class _Plain(ast.NodeTransformer):
    """`pass` in place of docstrings, of imports, which are followed, and of calls of checks."""

    def __init__(self, checks: set[str]) -> None:
        self._checks = checks

    def _undocumented(self, node: Any) -> Any:
        if ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _undocumented

    def _passed(self, node: ast.AST) -> ast.Pass:  # noqa: ARG002
        return ast.Pass()

    visit_Import = visit_ImportFrom = _passed

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | ast.Pass:
        called = getattr(getattr(node.value, "func", None), "id", None)
        return ast.Pass() if called in self._checks else node


@dataclass(frozen=True)
class _Contents:
    """Statements and imports at the top of a file, by the names that they bind."""

    statements: dict[str, list[ast.stmt]]
    imports: dict[str, list[_Import]]

    def imports_of(self, name: str) -> list[_Import]:
        """Where a name comes from; from all that is imported by a star, where nothing says."""
        if name in self.statements or name in self.imports:
            return self.imports.get(name, [])
        return [replace(one, name=name) for one in self.imports.get("*", [])]

    def changed_by(self, called: set[str]) -> set[str]:
        """Variables of the file that its functions `called` may change, as a registry of them."""
        seen, variables = set[str](), set[str]()
        while called - seen:
            seen.add(name := min(called - seen))
            found = self.statements.get(name, [])
            inside = _global_names([node for node in found if "name" in node._fields])
            called = called | inside
            variables |= {one for one in inside if one in self.statements and self._varies(one)}
        return variables

    def _varies(self, name: str) -> bool:
        return not any("name" in node._fields for node in self.statements[name])


@functools.lru_cache(256)
def _contents(text: str) -> _Contents:
    found = _Contents({}, {})
    for node in ast.parse(text).body:
        bound = _Bound([node])
        for one in bound.imports:
            found.imports.setdefault(one.bound, []).append(one)
        for name in bound.names | _assigned(node) | found.changed_by(bound.called):
            found.statements.setdefault(name, []).append(node)
    return found


class _Reach:
    """The texts that are used, in the order of their names; what was met before is a number."""

    def __init__(self, folder: Path, reduce: Reduce) -> None:
        self._folder, self._reduce = folder, reduce
        self._seen: dict[tuple[Path, str], int] = {}
        self.texts: list[str] = []
        self.found: list[tuple[str, Sequence[ast.stmt]]] = []

    def follow(self, place: _Place, nodes: Sequence[ast.stmt]) -> None:
        """Add the nodes, what they use, and what that uses."""
        bound = [one for found in place.contents.imports.values() for one in found]
        checks = {one.bound for one in bound if place.absolute(one) == CHECKS}
        nodes = self._reduce(nodes)
        self.found.append((place.module, nodes))
        plain = _Plain(checks).visit(ast.parse(ast.unparse(ast.Module(list(nodes), []))))
        lines = ast.unparse(plain).splitlines()
        self.texts.append("\n".join(line for line in lines if line.strip() != "pass"))
        for name in sorted(_global_names(plain.body)):
            self._add(place, name)
        for one in sorted(_Imports(nodes).imports, key=lambda one: one.bound):
            self._imported(place, one)

    def _add(self, place: _Place, name: str) -> None:
        contents, key = place.contents, (place.file, name)
        statements, imports = contents.statements.get(name, []), contents.imports_of(name)
        if not statements and not imports:
            return
        if key in self._seen:
            self.texts.append(str(self._seen[key]))
            return
        self._seen[key] = len(self._seen)
        if statements:
            self.follow(place, statements)
        for one in imports:
            self._imported(place, one)

    def _imported(self, place: _Place, one: _Import) -> None:
        """Follow an import to a name in a file of the folder, or to all of a file."""
        base = place.absolute(one)
        whole = base if one.name is None else f"{base}.{one.name}"
        if (inside := self._beside(whole)) is not None:
            for name in [*inside.contents.statements, *inside.contents.imports]:
                self._add(inside, name)
        elif one.name is not None and (inside := self._beside(base)) is not None:
            self._add(inside, one.name)
        else:
            self.texts.append(f"{base.partition('.')[0]}: {one.name or base}")

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
