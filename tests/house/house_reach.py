"""What the command line, the public API and experiments reach, by the names in the source.

A definition at the top of a file refers to the names in it. Names are followed through imports and
through attributes of modules (`series.line`). A class brings all of its methods with it, so a
method that nobody calls is not seen here. Tests and benchmarks reach nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Final

from house_tree import ROOT, Module, imports, modules

#: Where people come in: the program, what packages list in `__all__`, experiments, and files that
#: tools call by their place.
PROGRAM: Final = ("gradfeat.cli:main", "gradfeat.__main__:")
EXPERIMENT: Final = "EXPERIMENT"

#: Files for those who write Python, and what they give that no command or experiment uses.
LIBRARY: Final = {
    "gradfeat.maths.links": "links of one's own for the tasks",
    "gradfeat.tasks.targets": "named targets for the tasks",
    "gradfeat.tasks.single_index": "named targets for the tasks",
    "gradfeat.tasks.one_dimensional": "named targets for the tasks",
    "gradfeat.models.step_sizes": "the learner of Moniri24 at many step sizes",
    "gradfeat.models.kernels.network": "kernels of finite networks and of torch modules",
    "gradfeat.theory.activation_coefficients": "of any activation; the closed form has the ReLU's",
    "gradfeat.theory.patterns": "the best threshold, from which the best linear accuracy follows",
    "gradfeat.theory.shi22_moments": "signal to noise at every step of Shi22",
    "gradfeat.theory.zonal_spectrum": "shares of degrees on the sphere, for `kernel_curve`",
    "gradfeat.theory.kernel_curve": "Ghorbani 2021, Theorem 4",
    "gradfeat.theory.damian22_rates": "Damian22, rates",
    "gradfeat.theory.label_gradients": "exact gradients of linear labels",
}

#: A thing is MODULE:NAME; what a module runs when it is imported is MODULE: without a name.
Thing = str


@cache
def _definitions(name: str) -> dict[str, list[ast.stmt]]:
    """Statements at the top of a file by the name that they define; the others by the empty one."""
    found: dict[str, list[ast.stmt]] = {"": []}
    for node in _flat(modules()[name].tree.body):
        match node:
            case ast.FunctionDef(name=own) | ast.ClassDef(name=own):
                found.setdefault(own, []).append(node)
            case ast.Assign(targets=[ast.Name(id=own)]) | ast.AnnAssign(target=ast.Name(id=own)):
                found.setdefault(own, []).append(node)
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                found[""].append(node)
    return found


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        match node:
            case ast.If(body=inner, orelse=other):
                yield from _flat(inner)
                yield from _flat(other)
            case ast.Try(body=inner):
                yield from _flat(inner)
            case _:
                yield node


@cache
def _local_names(name: str) -> dict[str, Thing]:
    """What the names of a file mean: its own definitions and what it imports, anywhere in it."""
    module = modules()[name]
    found: dict[str, Thing] = {}
    for one in imports(module):
        if one.name is None:
            found[one.local] = f"{one.source}:"
        else:
            found[one.local] = f"{one.source}:{one.name}"
    return found | {own: f"{name}:{own}" for own in _definitions(name) if own}


def _refers(name: str, node: ast.AST) -> Iterator[Thing]:
    """Things that a statement refers to."""
    known = _local_names(name)
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Name(id=base), attr=attribute) if base in known:
                yield from _attribute(known[base], attribute)
            case ast.Name(id=base) if base in known:
                yield known[base]
            case ast.ImportFrom() | ast.Import():
                for found in imports(modules()[name], one):
                    if found.module:
                        yield f"{found.module}:"


def _attribute(base: Thing, attribute: str) -> Iterator[Thing]:
    """What `base.attribute` is where the base is a module; else the base itself."""
    settled = _settled(base)
    yield base
    if settled is not None and settled.endswith(":"):
        yield settled + attribute


def _strings(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        match one:
            case ast.Constant(value=str() as text):
                yield text


def _settled(thing: Thing) -> Thing | None:
    """Where a thing is defined, through re-exports; None for what is not ours."""
    for _ in range(10):
        name, _, own = thing.partition(":")
        if name not in modules():
            return None
        if not own or own in _definitions(name):
            return thing
        if own in _local_names(name) and _local_names(name)[own] != thing:
            thing = _local_names(name)[own]
            continue
        if f"{name}.{own}" in modules():
            return f"{name}.{own}:"
        return _lazily(name, own)
    return None


def _lazily(name: str, own: str) -> Thing | None:
    """A name that a package imports at its first use: looked for in the files of the package."""
    for inner in modules():
        if inner.startswith(f"{name}.") and own in _definitions(inner):
            return f"{inner}:{own}"
    return None


def _roots() -> Iterator[Thing]:
    yield from PROGRAM
    for name, module in modules().items():
        if EXPERIMENT in _definitions(name):
            yield f"{name}:{EXPERIMENT}"
        if module.is_package:
            for node in _definitions(name).get("__all__", []):
                yield from (f"{name}:{one}" for one in _strings(node))
    for name in LIBRARY:
        yield from (f"{name}:{own}" for own in _definitions(name) if not own.startswith("_"))
    for path in sorted((ROOT / "examples").rglob("*.py")):
        example = Module(f"examples.{path.stem}", path)
        for one in imports(example):
            yield f"{one.source}:{one.name or ''}"


def _reached() -> set[Thing]:
    found: set[Thing] = set()
    waiting = list(_roots())
    while waiting:
        thing = _settled(waiting.pop())
        if thing is None or thing in found:
            continue
        found.add(thing)
        name, _, own = thing.partition(":")
        if own:
            waiting.append(f"{name}:")
        for node in _definitions(name)[own]:
            waiting += _refers(name, node)
    return found


def unreached() -> Iterator[str]:
    """Modules of which nothing is reached, then public functions and classes in the others."""
    found = _reached()
    files = {thing.partition(":")[0] for thing in found}
    for name, module in modules().items():
        if module.is_package:
            continue
        if name not in files:
            yield module.file
            continue
        for own, nodes in _definitions(name).items():
            public = own and not own.startswith("_")
            defines = any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in nodes)
            if public and defines and f"{name}:{own}" not in found:
                yield f"{module.file}:{own}"
