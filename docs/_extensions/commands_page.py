"""The page of every command, made of what the program itself reads: options, values, defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from gradfeat.cli.app import GROUPS, app

HEAD = """# Commands

Every command of `gradfeat`, with every option. `gradfeat COMMAND --help` prints the same.
A command that cannot do what was asked says why in one sentence and ends with a status other
than 0; `--version` prints the version.
"""


def text() -> str:
    """The page in Markdown."""
    program: Any = typer.main.get_command(app)
    parts = [HEAD]
    for panel, commands in GROUPS.items():
        parts.append(f"## {panel}\n")
        for name, function in commands.items():
            parts.append("\n".join(_command(name, function, program.commands[name])))
    return "\n".join(parts)


def _command(name: str, function: Callable[..., Any], parsed: Any) -> Iterator[str]:
    arguments = [p for p in parsed.params if p.param_type_name == "argument"]
    options = [p for p in parsed.params if p.param_type_name == "option"]
    needed = [f"{p.opts[0]} {p.name.upper()}" for p in options if p.required]
    names = [p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments]
    yield f"### gradfeat {name}\n"
    yield f"{plain(parsed.help)}\n"
    yield f"```text\n{' '.join(['gradfeat', name, *names, *needed, '[OPTIONS]'])}\n```\n"
    kinds = get_type_hints(function)
    yield "| option | meaning | values | default |"
    yield "|---|---|---|---|"
    for parameter in [*arguments, *options]:
        if parameter.name in kinds:
            yield _row(parameter, kinds[parameter.name])
    yield ""


def _row(parameter: Any, kind: Any) -> str:
    shown = parameter.opts + parameter.secondary_opts
    argument = parameter.param_type_name == "argument"
    names = parameter.name.upper() if argument else ", ".join(f"`{one}`" for one in shown)
    default = "needed" if parameter.required else _default(parameter.default)
    return f"| {names} | {plain(parameter.help)} | {_values(kind)} | {default} |"


def plain(words: str | None) -> str:
    """Words of a help text in a cell of Markdown."""
    joined = " ".join((words or "").split())
    for mark in "\\|*_<[":
        joined = joined.replace(mark, f"\\{mark}")
    return joined


def _default(value: Any) -> str:
    if value in (None, False, (), []):
        return ""
    return f"`{value.value if isinstance(value, Enum) else value}`"


def _values(kind: Any) -> str:
    """What an option takes: names, a number, a path, several."""
    if get_origin(kind) in (Union, UnionType):
        return ", ".join(_values(one) for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(kind))
    if get_origin(kind) is list:
        return f"{_values(get_args(kind)[0])}, again for more"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{one.value}`" for one in kind)
    words = {"str": "text", "int": "whole number", "float": "number", "bool": "", "Path": "path"}
    return words.get(getattr(kind, "__name__", ""), "")
