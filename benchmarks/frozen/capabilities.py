"""What gradfeat can do, as a list that a redesign is held to.

    python benchmarks/frozen/capabilities.py --out FILE.json              # take it
    python benchmarks/frozen/capabilities.py --compare [FILE]             # what is missing now?

Commands with options and defaults, estimators with parameters, methods and fitted attributes,
public names, experiments with factors, grids, metrics and claims, formats read and written, names
that choices accept: each is looked up or tried. ``--compare`` prints what is missing, changed and
new against capabilities.json, and exits 1 where something is missing that ``renamed.json`` (old:
{"now": new or "", "why": ...}; old may be a pattern) does not explain. Names of functions inside
the library (``inventory/``) are told only with ``--inventory`` and never count.
"""

from __future__ import annotations

import sys
from pathlib import Path

# In place of this folder, whose `numbers` would hide Python's own (worker processes begin without).
if sys.path[0] == str(Path(__file__).parent):
    sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parent / "parts"))

import argparse
import fnmatch
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import trees

HERE = Path(__file__).parent
KEPT, RENAMED = HERE / "capabilities.json", HERE / "renamed.json"

Capabilities = dict[str, Any]


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Path(folder)


def sections() -> dict[str, Callable[[Path], Any]]:
    """Sections by name, imported late: `--src` decides which gradfeat."""
    import probes

    import interface

    return {
        "commands": lambda _: interface.commands(),
        "estimators": lambda _: interface.estimators(),
        "names": lambda _: interface.public_names(),
        "inventory": lambda _: interface.inventory(),
        "experiments": lambda _: interface.experiments(),
        "choices": lambda _: probes.choices(),
        "inputs": lambda _: probes.inputs(),
        "rows": probes.rows,
        "tables": probes.tables,
        "outputs": probes.outputs,
        "images": probes.images,
    }


def taken(names: list[str] | None) -> dict[str, Capabilities]:
    """The capabilities of the present tree by section."""
    known = sections()
    found: dict[str, Capabilities] = {}
    for name in names or list(known):
        with _folder() as folder:
            found[name] = dict(known[name](folder))
        print(f"{name}: {len(found[name])}", file=sys.stderr, flush=True)
    return found


def explained(name: str, renamed: dict[str, dict[str, str]]) -> dict[str, str] | None:
    """Why a capability is not where it was; None where nothing says so."""
    for pattern, about in renamed.items():
        if name == pattern or fnmatch.fnmatch(name, pattern):
            return about
    return None


def lost(old: Capabilities, new: Capabilities) -> list[str]:
    """What is gone, or was tried and does not work any more."""
    return [name for name, value in old.items() if name not in new or (value == "yes" != new[name])]


def compare(old: Capabilities, new: Capabilities, renamed: dict[str, Any]) -> int:
    """Print missing, changed and new; the exit code."""
    missing = lost(old, new)
    unexplained = 0
    for name in missing:
        about = explained(name, renamed)
        unexplained += about is None
        told = "" if about is None else f"  now: {about['now'] or 'gone'} ({about['why']})"
        print(f"{'MISSING' if about is None else 'renamed':8s}{name}{told}")
    for name in sorted(set(old) & set(new) - set(missing)):
        if old[name] != new[name]:
            about = explained(name, renamed)
            told = "" if about is None else f"  ({about['why']})"
            print(f"changed {name}: {old[name]} -> {new[name]}{told}")
    for name in sorted(set(new) - set(old)):
        print(f"new     {name}: {new[name]}")
    print(f"{len(old)} capabilities: {len(missing)} not there, {unexplained} of them unexplained")
    return int(unexplained > 0)


def main() -> int:
    """Take the list, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="SECTION", help="some sections")
    parser.add_argument("--compare", nargs="?", type=Path, const=KEPT, metavar="FILE")
    parser.add_argument("--inventory", action="store_true", help="names inside the library too")
    parser.add_argument("--out", type=Path, help="where to write the list")
    parser.add_argument("--src", help="folder that holds the package gradfeat")
    given = parser.parse_args()
    trees.use(given.src)
    found = taken(given.only)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    if given.compare is None:
        return 0
    kept = json.loads(given.compare.read_text())
    renamed = json.loads(RENAMED.read_text()) if RENAMED.exists() else {}
    chosen = [name for name in found if given.inventory or name != "inventory"]
    old, new = ({k: v for n in chosen for k, v in which[n].items()} for which in (kept, found))
    if given.inventory:
        renamed = {**renamed, "inventory/*": {"now": "", "why": "inside the library"}}
    return compare(old, new, renamed)


if __name__ == "__main__":
    sys.exit(main())
