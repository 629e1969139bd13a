"""Commands with wrong kinds of values, and paths to what is no file."""

from __future__ import annotations

import contextlib
import os
import socket
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import typer

from gradfeat.cli.app import GROUPS

#: Words in the place of any value.
ODD_WORDS = (
    "", " ", "x", "-1", "0", "1", "1e400", "nan", "inf", "-inf", "1_000", "٣", "2**64",
    "9" * 400, "0x10", "1.5", "true", "None", "\x1b[2J", "\udcff", "a\nb", "🙂", "x" * 300,
    "é/e\u0301", "~", ".", "/", "//", "a,b", ",", "=", "a=", "=a", "a=b=c", "{}", "%s", "*", "[",
    "]", "**", "-", "--", "-h", "C:\\a b", "cuda", "cuda:99", "mps", "xpu", "hpu", "meta",
    "cpu:1", "tcp://127.0.0.1:1", "tcp://", "utf-99", "rot13", "base64", "local ", "png",
    "svg,exe", "linear", "linear,", "rfm,rfm", "1:2:3", "1:2:0", "1/0", "polynomial:",
    "setting-9",
)  # fmt: skip

ODD_NUMBERS = (
    "-1",
    "0",
    "1",
    "2",
    "7",
    "99",
    "1e9",
    "100000000000",
    "1e308",
    "1e-320",
    "nan",
    "-inf",
)

#: Paths that name nothing, or nothing here.
ODD_PATHS = (
    "", " ", "none.csv", "x" * 300, "none/none.csv", "\udcff.csv", "a\nb.csv", "🙂.csv",
    "/dev/null", "/dev/full", "/dev/zero", "/dev/stdin", "/proc/self/mem", "/proc/self/environ",
    "/etc/shadow", "/", ".", "~", "*.csv", "[", "http://127.0.0.1:1/a.csv", "s3://none/a.csv",
    "file:///none.csv", "memory://none.csv", "gopher://a", "zip://a.csv::b.zip",
    "simplecache::http://127.0.0.1:1/a", "data:,a", "://", "sqlite:///a", "hdfs://a/b",
)  # fmt: skip


@contextlib.contextmanager
def odd_places(folder: Path) -> Iterator[list[str]]:
    """Things in a folder that are no files: a FIFO, a socket, links, folders, unreadable files."""
    os.mkfifo(folder / "fifo.csv")
    (folder / "link.csv").symlink_to(folder / "fifo.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "dangling.csv").symlink_to(folder / "nowhere" / "a.csv")
    (folder / "outside.csv").symlink_to("/dev/null")
    (folder / "empty.csv").touch()
    (folder / "folder.csv").mkdir()
    (folder / "shut").mkdir()
    (folder / "locked.csv").write_text("a,y\n1,2\n")
    (folder / "locked.csv").chmod(0)
    (folder / "shut").chmod(0)
    names = [p.name for p in folder.iterdir()]
    listening = socket.socket(socket.AF_UNIX)
    with listening, contextlib.suppress(OSError):
        listening.bind(str(folder / "s.csv"))
        names.append("s.csv")
        yield [str(folder / name) for name in (*names, "shut/a.csv", "empty.csv/a.csv")]
    (folder / "shut").chmod(0o700)


@dataclass(frozen=True)
class Parameter:
    """A word of a command: its option ("" for arguments), and path or number."""

    option: str
    path: bool
    flag: bool
    number: bool


#: Parameters of type text that are paths too.
_PATHS = {"data", "dask", "to"}


def parameters() -> dict[str, dict[str, Parameter]]:
    """Of every command, as Typer knows them."""
    app = typer.Typer()
    commands = {name: f for group in GROUPS.values() for name, f in group.items()}
    found: dict[str, dict[str, Parameter]] = {}
    for name, function in commands.items():
        app.command(name)(function)
        hints = typing.get_type_hints(function, include_extras=True)
        found[name] = {key: _parameter(key, hint) for key, hint in hints.items() if key != "return"}
    return found


def _parameter(name: str, hint: Any) -> Parameter:
    kind, *about = typing.get_args(hint)
    argument = any(type(word).__name__ == "ArgumentInfo" for word in about)
    declared = [w for word in about for w in (word.default, *(word.param_decls or ()))]
    long = next((w for w in declared if str(w).startswith("--")), f"--{name.replace('_', '-')}")
    return Parameter(
        "" if argument else long,
        "Path" in str(kind) or name in _PATHS,
        kind is bool or kind == (bool | None),
        bool({int, float} & {kind, *typing.get_args(kind)}),
    )


def mistaken(draw: Random, commands: dict[str, list[str]], places: list[str]) -> list[str]:
    """One command that works, with one of its words, or an option more, mistaken."""
    name = draw.choice(sorted(commands))
    words, known = list(commands[name]), parameters()[name]
    chosen = known[draw.choice(sorted(known))]
    likely = (*places, *ODD_PATHS) if chosen.path else ODD_NUMBERS if chosen.number else ODD_WORDS
    values = likely if draw.random() < 0.8 else ODD_WORDS
    value = draw.choice(values)
    if chosen.flag:
        return [name, *words, draw.choice((chosen.option, f"{chosen.option}={value}"))]
    if chosen.option in words:
        words[words.index(chosen.option) + 1] = value
    elif chosen.option:
        words += [chosen.option, value]
    else:
        words[0 if len(words) < 2 or words[1].startswith("--") else draw.randrange(2)] = value
    return [name, *words]
