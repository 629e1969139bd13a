"""What a person can put right becomes one sentence and an exit code; files of figures."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from gradfeat.cli.terminal import Terminal
from gradfeat.errors import OURS
from gradfeat.maths.files import refused
from gradfeat.maths.limits import USED_UP, memory_was_refused

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of an option or argument that does not parse; typer exports only this subclass of it.
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])

#: Exit code of Ctrl-C and SIGTERM; typer returns it where a command does not catch the interrupt.
INTERRUPTED = 130
#: Exit code of a fault of the program itself (EX_SOFTWARE of sysexits.h).
UNFORESEEN = 70
NOTHING = "stopped; nothing was written."
#: What people look for behind a word that they try.
_HINTS = {
    "option: --quick": " (--scale quick, of run and verify)",
    "No such command 'compare'": " (`gradfeat fit` compares methods)",
    "option '--to'": " (of an experiment's results; for a model: gradfeat.export_onnx in Python)",
}


class Refused(Exception):
    """A request that the command line itself cannot meet: one sentence."""


class Stopped(Exception):
    """Ctrl-C or SIGTERM, with what is kept and how to go on: one sentence."""


def guarded(run: Callable[..., Any], arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    What a person can put right is one sentence on stderr and code 2; Ctrl-C and SIGTERM are code
    130; a fault of the program is one sentence, a file with the traceback, and code 70.
    """
    try:
        _refuse_empty(sys.argv[1:] if arguments is None else arguments)
        code = run(args=arguments, prog_name="gradfeat", standalone_mode=False) or 0
        return refuse(NOTHING, INTERRUPTED) if code == INTERRUPTED else code
    except USAGE_ERROR as error:
        return refuse(_usage(error))
    except Stopped as stop:
        return refuse(str(stop), INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        return refuse(NOTHING, INTERRUPTED)
    except BrokenPipeError:
        return _without_output()
    except MemoryError as error:
        ours = str(error) and not memory_was_refused(error)
        return refuse(str(error) if ours else USED_UP)
    except (Refused, *OURS) as error:
        return refuse(str(error))
    except OSError as error:
        return _of_the_system(error)
    except Exception as error:
        return _unforeseen(error)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse options with an empty value, as an unset variable of a shell leaves them."""
    for option, value in pairwise([*arguments, "-"]):
        if (option.startswith("-") and not value) or re.fullmatch(r"--[\w-]+=", option):
            raise Refused(
                f"the value of {option.rstrip('=')} is empty: give one, or leave the option out."
            )


def _of_the_system(error: OSError) -> int:
    """What the system refused, and which file it was."""
    if memory_was_refused(error):
        return refuse(USED_UP)
    if error.errno == errno.ENOSPC:
        _without_output()
        return refuse("the disk is full: free space and run again.")
    what = f"{error.filename!r} cannot be used" if error.filename else "the system refused a call"
    return refuse(f"{what} ({error.strerror or error}): check the path, and who may read or write.")


def _unforeseen(error: Exception) -> int:
    """A fault of the program, in one sentence; its traceback goes to a temporary file."""
    if memory_was_refused(error):
        return refuse(USED_UP)
    if os.environ.get("GRADFEAT_DEBUG"):
        raise error
    said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    if library := _not_loaded(error):
        return refuse(
            f"the library {library} stopped while it was loaded ({said}): an environment variable "
            f"that it reads may have a value that it does not allow{_suspects(error)}; unset it, "
            "or install the library anew. GRADFEAT_DEBUG=1 shows the traceback."
        )
    try:
        handle, path = tempfile.mkstemp(prefix="gradfeat-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as report:
            report.write(f"gradfeat {version('gradfeat')}, Python {sys.version}\n{sys.argv}\n")
            report.writelines(traceback.format_exception(error))
    except OSError as refused:
        path = f"nowhere ({refused})"
    return refuse(
        f"this is a fault of gradfeat, which did not foresee it ({said}): the report is in {path}; "
        "GRADFEAT_DEBUG=1 shows it here.",
        UNFORESEEN,
    )


def _not_loaded(error: Exception) -> str:
    """The library whose own lines were still being imported when the error came, "" if none."""
    modules = [
        frame.f_globals.get("__name__", "__main__").partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_name == "<module>"
    ]
    return next((name for name in modules[::-1] if name not in ("gradfeat", "__main__")), "")


def _suspects(error: Exception) -> str:
    """Environment variables which the lines that failed, or the error, name."""
    lines = f"{error} {' '.join(f.line or '' for f in traceback.extract_tb(error.__traceback__))}"
    named = set(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", lines)) & set(os.environ)
    return "".join(f" ({name}={os.environ[name]!r})" for name in sorted(named))


def _without_output() -> int:
    """Nobody can read on: what is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def refuse(sentence: str, code: int = 2) -> int:
    """Print the sentence on stderr, in one line; return the exit code."""
    words = f"gradfeat: {' '.join(sentence.split())}"
    words += "" if words[-1] in ".?!" else "."
    Terminal(stderr=True).say(words)
    return code


def _usage(error: Any) -> str:
    """What is wrong with the words of the command, in one sentence."""
    if error.ctx is not None and not str(error):
        return f"say what to do: {error.ctx.command_path} --help lists it."
    sentence = error.format_message().rstrip(".").replace("Value error, ", "")
    sentence += "".join(hint for words, hint in _HINTS.items() if words in sentence)
    more = error.ctx.command_path if error.ctx is not None else "gradfeat"
    return f"{sentence}: see {more} --help."


#: Formats of figures that a command writes.
FORMATS = (".png", ".svg", ".pdf")


def check_figure_file(path: Path) -> None:
    """Refuse, before any work, a figure file of another format, or in no folder."""
    from gradfeat.drawing.panels import check_suffix

    try:
        check_suffix(path, FORMATS)
    except ValueError as error:
        raise Refused(str(error)) from None
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise Refused(f"'{path}' is a folder or in none that exists: give a file in a folder.")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure; its folder is made. `Refused` where the system does not let."""
    from gradfeat.drawing.panels import save_figure

    with refused(path, Refused):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_figure(figure, path)
