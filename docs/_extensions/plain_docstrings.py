"""Docstrings are plain text with formulas: what reStructuredText would take for markup is escaped.

|x - z| is no substitution, agop_ no link and a * b no emphasis; literals, roles and examples stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sphinx.addnodes import pending_xref

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

#: Literals, roles and single-quoted code, which are kept as they are.
KEPT = re.compile(r"(``.+?``|:[a-z:]+:`[^`]+`|`[^`]+`)")
#: Name of a parameter or attribute, as numpydoc has it: napoleon escapes these itself.
NAME = re.compile(r"^\s*[\w*, \\]+ : ")
FIELD = re.compile(r"`[\w, ]+`[^:]*: ")
MARKUP = re.compile(r"\||\*|(?<=\w)_(?!\w)")


def escaped(text: str) -> str:
    """A line of prose with its bars, stars and trailing underscores escaped.

    >>> escaped("k of |x - z|, in ``|x|`` and agop_.")
    'k of \\\\|x - z\\\\|, in ``|x|`` and agop\\\\_.'
    """
    name = NAME.match(text)
    start = name.end() if name else 0
    parts = KEPT.split(text[start:])
    parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return text[:start] + "".join(parts)


def _process(
    _app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    lines[:] = [*_lines(_listed(lines))]


def _listed(lines: list[str]) -> Iterator[str]:
    """Fields that are described as `name`: text, with deeper lines after it, as a list."""
    field = False
    for line in lines:
        if FIELD.match(line):
            yield from ([] if field else [""])
            yield f"- {line}"
            field = True
        elif field and line.startswith("    "):
            yield f"  {line.strip()}"
        else:
            yield from ([""] if field else [])
            field = False
            yield line


def _lines(lines: Iterator[str]) -> Iterator[str]:
    example = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        yield line if example else escaped(line)


def _skip(
    _app: Sphinx, _what: str, name: str, thing: object, skip: bool, _options: object
) -> bool | None:
    """Methods of scikit-learn's base classes are documented there, and link to its site."""
    theirs = (getattr(thing, "__module__", None) or "").startswith("sklearn.")
    return True if skip or theirs or re.fullmatch("set_.*_request", name) else None


def _unlink(_app: Sphinx, tree: nodes.document) -> None:
    """Words of a type, such as "array (n, d)", are no names of things that have a page."""
    for node in [*tree.findall(pending_xref)]:
        if node.get("refdomain") == "py" and re.fullmatch("[a-z_]+", node["reftarget"]):
            node.replace_self(node.children)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _unlink)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _process, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
