"""What a person can put right becomes one sentence and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import typer
from rich.console import Console

#: Of an option or argument that does not parse; typer exports only this subclass of it.
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])


class Refused(Exception):
    """A request that the command line itself cannot meet: one sentence."""


class Stopped(Exception):
    """Ctrl-C, with what is kept and how to go on: one sentence."""


def _sentences() -> tuple[type[Exception], ...]:
    """Errors whose message is for the person at the keyboard; imported once one was raised."""
    from gradfeat.estimators.container import ModelFileError
    from gradfeat.experiments.errors import ExperimentError, StoreError
    from gradfeat.tabular.errors import TableError

    return TableError, ModelFileError, ExperimentError, StoreError


def guarded(run: Callable[..., Any], arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    What a person can put right is one sentence on stderr and code 2; Ctrl-C is code 130.
    """
    try:
        return run(args=arguments, prog_name="gradfeat", standalone_mode=False) or 0
    except USAGE_ERROR as error:
        return refuse(_usage(error))
    except Refused as error:
        return refuse(str(error))
    except Stopped as stop:
        return refuse(str(stop), 130)
    except (KeyboardInterrupt, typer.Abort):
        return refuse("stopped; nothing was written.", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        return refuse(str(error) or "the memory is used up: give less at once.")
    except _sentences() as error:
        return refuse(str(error))


def refuse(sentence: str, code: int = 2) -> int:
    """Print the sentence on stderr, in one line; return the exit code."""
    words = f"gradfeat: {' '.join(sentence.split())}"
    if words[-1] not in ".?!":
        words += "."
    Console(stderr=True, highlight=False).print(words, markup=False, soft_wrap=True)
    return code


def _usage(error: Any) -> str:
    """What is wrong with the words of the command, in one sentence."""
    if error.ctx is not None and not str(error):
        return f"say what to do: {error.ctx.command_path} --help lists it."
    sentence = error.format_message().rstrip(".").replace("Value error, ", "")
    more = error.ctx.command_path if error.ctx is not None else "gradfeat"
    return f"{sentence}: see {more} --help."
