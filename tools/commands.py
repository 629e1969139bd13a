"""Run every block of commands and of Python in README and docs, and compare what they print.

A page runs from top to bottom in an empty folder that has `examples/` in it: blocks of `bash` and
`sh` as commands, of `python` and `pycon` in one namespace. A block of `text` right after one is
what it prints, compared with numbers, blanks and rules left out, which may move; `...` stands for
anything. What cannot run here has a comment before it: `<!-- not run: why -->`.

    python tools/commands.py [--write] [PAGE ...]

`--write` puts what was printed in the place of what the page says.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+?) -->\n+)?"
    r"^(?P<fence>```+)(?P<language>[a-z]+)\n(?P<text>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
RUN = ("bash", "sh", "python", "pycon")
NUMBER = re.compile(r"[-+−]?\d(?:[\d.,]*\d)?(?:e[-+]?\d+)?")
#: The most seconds of one block.
LONGEST = 900


@dataclass(frozen=True)
class Block:
    """A fenced block: its place in the page, why it is not run, and what it is said to print."""

    language: str
    text: str
    why: str | None
    line: int
    #: Where in the page the text of its output begins and ends; None where none is shown.
    output: tuple[int, int] | None = None


def blocks(page: str) -> list[Block]:
    """Blocks of a page that run, or say why not.

    >>> [(b.language, b.output) for b in blocks("```bash\\nls\\n```\\n\\n```text\\na\\n```\\n")]
    [('bash', (24, 26))]
    """
    found: list[Block] = []
    end = -1
    for match in FENCE.finditer(page):
        if match["language"] == "text" and found and not page[end : match.start()].strip():
            last = found.pop()
            found.append(Block(last.language, last.text, last.why, last.line, match.span("text")))
        if match["language"] in RUN:
            line = page.count("\n", 0, match.start("fence")) + 1
            found.append(Block(match["language"], match["text"], match["why"], line))
        end = match.end()
    return found


def pages() -> list[Path]:
    """README and what is written under docs/; not what the site's build makes."""
    made = {"_build", "generated", "project"}
    docs = [page for page in sorted((ROOT / "docs").rglob("*.md")) if not made & {*page.parts}]
    return [ROOT / "README.md", *docs]


def commands(text: str) -> Iterator[str]:
    """Lines of a block as commands: continued lines joined, comments left out."""
    for line in text.replace("\\\n", " ").splitlines():
        command = re.sub(r"(?:^|\s)#.*$", "", line).strip()
        if command:
            yield command


def same(printed: str, said: str) -> bool:
    """Whether two outputs agree but for numbers, blanks and rules.

    >>> same("R2 0.52 [0.4, 0.6]", "R2  0.51 [0.4, 0.7]"), same("R2 0.5", "R2 ..."), same("a", "b")
    (True, True, False)
    """
    pattern = ".*".join(re.escape(plain(part)) for part in said.split("..."))
    return re.fullmatch(pattern, plain(printed), re.DOTALL) is not None


def plain(text: str) -> str:
    """Letters of an output without what may move."""
    return NUMBER.sub("#", re.sub(r"[\s─│━]+", "", text))


def run_block(block: Block, names: dict, folder: Path) -> str:
    """What a block prints; raises where it fails."""
    if block.language in ("bash", "sh"):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        env = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "agg"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
        if done.returncode:
            raise RuntimeError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
        if block.language == "python":
            exec(compile(block.text, "page", "exec"), names)
        else:
            _run_examples(block, names)
    return printed.getvalue()


def _run_examples(block: Block, names: dict) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(block.text, names, "page", "page", block.line)
    told: list[str] = []
    if runner.run(test, out=told.append, clear_globs=False).failed:
        raise RuntimeError("".join(told))
    names.update(test.globs)


def run_page(path: Path, write: bool) -> list[str]:
    """Faults of a page, one a line; with `write` the page is made to say what was printed."""
    page, faults, printed = path.read_text("utf-8"), [], {}
    names: dict = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        for block in blocks(page):
            place = f"{path.relative_to(ROOT)}:{block.line}"
            if block.why:
                continue
            start = time.monotonic()
            try:
                out = run_block(block, names, Path(folder))
            except Exception as error:
                faults.append(f"{place}: {type(error).__name__}: {error}")
                continue
            print(f"{place}: {time.monotonic() - start:.1f} s", flush=True)
            if block.output and not same(out, said := page[slice(*block.output)]):
                if write and "..." not in said:
                    printed[block.output] = out
                else:
                    faults.append(f"{place} prints\n{out}\nand not\n{said}")
    for (start, end), out in sorted(printed.items(), reverse=True):
        lines = "".join(f"{line.rstrip()}\n" for line in out.strip("\n").splitlines())
        page = page[:start] + lines + page[end:]
    if printed:
        path.write_text(page, "utf-8")
    return faults


def main() -> int:
    """Run the pages and print their faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="put what is printed into the pages")
    asked = parser.parse_args()
    chosen = [path.resolve() for path in asked.pages] or pages()
    faults = [fault for path in chosen for fault in run_page(path, asked.write)]
    print("\n".join(faults) or "every block runs and prints what its page says")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
