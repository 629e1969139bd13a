"""The house rules: each gives who breaks it, a line for each offence.

Those who break a rule today stand in `known/RULE.txt`. A line that is not there fails, and so does
a line there that is not needed: `python tests/house/tighten.py` takes such lines out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import house_reach
from house_tree import ROOT, SRC, Module, circles, imported, importers, modules

#: A module of fewer lines is small: with one importer it needs a reason to be apart.
SMALL: Final = 100

#: How the reason is written.
APART: Final = re.compile(r"^# Apart: \S+ \S+", re.MULTILINE)

#: One to four words and nothing else.
PLAIN: Final = re.compile(r"\w[a-z'-]*(?:,? \w[a-z'-]*){0,3}\.?")

#: Where a type is asked for on purpose, and why. By file and function.
BOUNDARIES: Final[dict[str, str]] = {
    "maths/activations.py:activation": "users give a name or an activation",
    "maths/modules.py:_floating_rows": "outputs of a user's module may be anything",
    "rows/on_workers.py:_moved": "goes through values of Python's own types",
    "rows/on_workers.py:_dataclass": "forgets what `functools.cached_property` keeps",
    "estimators/checks.py:seed_from": "users give numbers or generators, as scikit-learn has it",
    "estimators/container.py:_plain": "JSON knows Python's own types alone",
    "estimators/agop_of.py:_like": "what comes back is of the kind that came",
    "estimators/agop_of.py:_looked_at": "users give models of any library",
    "estimators/agop_of.py:_points": "users give models and tables of any library",
    "estimators/slopes.py:model_slopes": "users give models of any library",
    "estimators/slopes.py:numeric_table": "users give tables of any library",
    "interface/open.py:given": "users give paths, and tables of any library",
    "wording.py:as_names": "users give one name or several",
    "interface/open.py:refuse_types": "users give values of any type",
    "table/read.py:as_frame": "users give tables of any library",
    "estimators/slopes.py:pandas_or_same": "users give tables of any library",
    "diagnostics/neural_feature_ansatz.py:_layers": "layers of a user's module are torch's classes",
}


def import_circles() -> Iterator[str]:
    """Files that import each other, also in functions; imports for types only do not run."""
    graph = {name: imported(name, types_too=False) for name in modules()}
    for group in circles(graph):
        for name in group:
            yield f"{modules()[name].file}"


def class_names() -> Iterator[str]:
    """Classes of one name in several places."""
    places = Counter(
        node.name
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    )
    for name, count in places.items():
        if count > 1:
            yield f"{name} {count}"


def small_modules() -> Iterator[str]:
    """Modules of under 100 lines that one module imports, without `# Apart: why`."""
    for name, module in modules().items():
        single = len(importers()[name]) == 1 and not module.is_package
        if single and module.lines < SMALL and not APART.search(module.text):
            yield module.file


def unreached() -> Iterator[str]:
    """Public functions, classes and modules that neither the command line, the public API nor an
    experiment reaches; see `house_reach`."""
    yield from house_reach.unreached()


def type_dispatch() -> Iterator[str]:
    """Behaviour chosen by asking for a type: `case T():`, isinstance, issubclass, hasattr,
    `in vars(x)`."""
    yield from _counted(_asks_for_type)


def one_armed_matches() -> Iterator[str]:
    """A `match` of one case, or of one case and `_`: an `if` in disguise."""
    yield from _counted(_is_one_armed)


def _counted(offends: Callable[[ast.AST], bool]) -> Iterator[str]:
    for module in modules().values():
        for where, count in sorted(Counter(_offences(module, offends)).items()):
            if f"{module.file}:{where}" not in BOUNDARIES:
                yield f"{module.file}:{where} {count}"


def _offences(module: Module, offends: Callable[[ast.AST], bool]) -> Iterator[str]:
    """The function or class in which each offence stands."""
    for node in module.tree.body:
        for part, where in _parts(node):
            for one in ast.walk(part):
                if offends(one):
                    yield where


def _parts(node: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.ClassDef(name=name, body=body):
            for inner in body:
                yield inner, f"{name}.{getattr(inner, 'name', '')}".rstrip(".")
        case ast.FunctionDef(name=name):
            yield node, name
        case _:
            yield node, ""


def _asks_for_type(node: ast.AST) -> bool:
    match node:
        case ast.MatchClass(patterns=[], kwd_patterns=[]):
            return True
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "hasattr")):
            return True
        case ast.Compare(comparators=[ast.Call(func=ast.Name(id="vars"))]):
            return True
    return False


def _is_one_armed(node: ast.AST) -> bool:
    match node:
        case ast.Match(cases=[_]):
            return True
        case ast.Match(cases=[_, ast.match_case(pattern=ast.MatchAs(pattern=None))]):
            return True
    return False


def short_docstrings() -> Iterator[str]:
    """Docstrings of one to four plain words, which repeat the name; formulas say more."""
    for module in modules().values():
        for node in module.nodes:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    if len(name) > 2 and PLAIN.fullmatch(ast.get_docstring(node) or ""):
                        yield f"{module.file}:{name}"


def regimes() -> Iterator[str]:
    """Formulas of theory, functions that name their source, without `Regime:` or an example."""
    for module in modules().values():
        if not module.file.startswith("theory/"):
            continue
        for node in module.nodes:
            match node:
                case ast.FunctionDef(name=name) if not name.startswith("_"):
                    text = ast.get_docstring(node) or ""
                    if "Source:" in text and not ("Regime:" in text and ">>>" in text):
                        yield f"{module.file}:{name}"


def words() -> Iterator[str]:
    """Words that docs/vocabulary.md replaces, in source and documentation."""
    files = [module.path for module in modules().values()]
    files += [*written_pages(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    files += (SRC / "gradfeat" / "reports" / "templates").rglob("*.*")
    for path in files:
        if path.name == "vocabulary.md":
            continue
        text = path.read_text(encoding="utf-8")
        small = text.lower()
        for word, pattern in replaced():
            if word.split()[0].lower() in small and (count := len(pattern.findall(text))):
                yield f"{path.relative_to(ROOT).as_posix()}: {word} {count}"


def written_pages() -> list[Path]:
    """Pages of docs/ that somebody wrote: not those that the site's build makes of the code."""
    made = ("_build", "project", "reference/generated")
    pages = ((path, path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))
    return [path for path, page in pages if not page.as_posix().startswith(made)]


def replaced() -> list[tuple[str, re.Pattern[str]]]:
    """What the vocabulary forbids: everything in backticks in its last column.

    A word with a capital is the name of a class; others are found in any case and across lines.
    """
    text = (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("|")]
    found = [word for row in rows for word in re.findall(r"`([^`]+)`", row[3])]
    return [(word, _pattern(word)) for word in dict.fromkeys(found)]


def _pattern(word: str) -> re.Pattern[str]:
    if word != word.lower():
        return re.compile(rf"(?:class |import |: |-> |\[|, ){word}\b|(?<![\w.]){word}\(")
    phrase = r"[\s#]+".join(re.escape(part) for part in word.split())
    return re.compile(rf"(?<![\w.]){phrase}(?!\w)", re.IGNORECASE)


RULES: Final[dict[str, Callable[[], Iterator[str]]]] = {
    rule.__name__: rule
    for rule in (
        import_circles,
        class_names,
        small_modules,
        unreached,
        type_dispatch,
        one_armed_matches,
        short_docstrings,
        regimes,
        words,
    )
}
