"""One command under attack, run in this process: what came of the try, in a word."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradfeat.cli import app, guarded

#: Processor seconds, and seconds of a clock, after which a try hangs: each is asked for a second
#: of work, and other programs may take the processor.
PATIENCE, LONGEST = 40, 240

SENTENCE, RIGHT = "sentence", "right result"
TRACEBACK, HANG, WRONG, NOISE, LOST = "traceback", "hang", "wrong result", "noise", "file lost"
FAULTS = (TRACEBACK, HANG, WRONG, NOISE, LOST)
COLUMNS = (SENTENCE, RIGHT, *FAULTS)


class Hung(BaseException):
    """The time of a try is over."""


@dataclass(frozen=True)
class Ran:
    """Exit code and what was printed, by whomever, on the two outputs of the process."""

    code: int
    out: str
    err: str


@dataclass
class Tally:
    """What came of all tries, by their kind, and every fault with what leads to it."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, kind: str, outcome: str, how: str) -> None:
        """Enter one try: `how` says how to see it again."""
        self.counts[kind, outcome] += 1
        if outcome in FAULTS:
            self.faults.append(f"{kind}: {outcome}: {how}")

    def table(self) -> str:
        """A line a kind, and one of all."""
        kinds = list(dict.fromkeys(kind for kind, _ in self.counts))
        lines = [" | ".join(["kind".ljust(34), "tries", *COLUMNS])]
        for kind in (*kinds, "all"):
            got = [
                sum(n for (k, o), n in self.counts.items() if o == outcome and kind in (k, "all"))
                for outcome in COLUMNS
            ]
            cells = [str(n).rjust(len(name)) for n, name in zip(got, COLUMNS, strict=True)]
            lines.append(" | ".join([kind.ljust(34), str(sum(got)).rjust(5), *cells]))
        return "\n".join(lines)


@contextlib.contextmanager
def _captured(said: dict[str, str]) -> Iterator[None]:
    """What this process writes to descriptors 1 and 2, compiled libraries included."""
    streams = {"out": sys.stdout, "err": sys.stderr}
    with contextlib.ExitStack() as stack:
        files = {n: stack.enter_context(tempfile.TemporaryFile("w+b")) for n in streams}
        for number, name in ((1, "out"), (2, "err")):
            kept = os.dup(number)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            os.dup2(files[name].fileno(), number)
        texts = {n: open(os.dup(f.fileno()), "w", errors="replace") for n, f in files.items()}  # noqa: SIM115
        sys.stdout, sys.stderr = texts["out"], texts["err"]
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams["out"], streams["err"]
            for name, text in texts.items():
                with contextlib.suppress(OSError, ValueError):
                    text.close()
                files[name].seek(0)
                said[name] = files[name].read().decode(errors="replace")


@contextlib.contextmanager
def _as_a_stranger_sees() -> Iterator[None]:
    """Every warning that Python shows a user by default, each time; a fault with its traceback."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        for shown in (UserWarning, RuntimeWarning, FutureWarning, SyntaxWarning):
            warnings.simplefilter("always", shown)
        os.environ["GRADFEAT_DEBUG"] = "1"
        yield


def _late(*_: object) -> None:
    raise Hung


def attempt(*words: object) -> Ran:
    """Run ``gradfeat WORDS``; a traceback is on `err`, code 70; one that hangs has code 124."""
    said: dict[str, str] = {}
    for late in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(late, _late)
    with _captured(said), _as_a_stranger_sees():
        signal.alarm(LONGEST)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            code = guarded(app, [str(word) for word in words])
        except Hung:
            code = 124
        except BaseException:
            traceback.print_exc()
            code = 70
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
    return Ran(code, said["out"], said["err"])


def outcome(ran: Ran) -> str:
    """What a try came to, by its code and error output alone."""
    if ran.code == 124:
        return HANG
    if ran.code == 70 or "Traceback" in ran.err:
        return TRACEBACK
    if ran.code == 0:
        return NOISE if ran.err.strip() else RIGHT
    return SENTENCE if is_sentence(ran.err) else NOISE


def is_sentence(said: str) -> bool:
    """One line, from the program, which ends as sentences do."""
    lines = said.strip().splitlines()
    return len(lines) == 1 and re.fullmatch(r"gradfeat: .{10,}[.?!]", lines[0]) is not None


def last_line(ran: Ran) -> str:
    """What was said last: of a traceback the error itself."""
    lines = [line for line in ran.err.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def where(ran: Ran) -> str:
    """The innermost place of ours in a traceback."""
    places = re.findall(r'File "\S*src/(gradfeat/\S+)", line (\d+)', ran.err)
    return ":".join(places[-1]) if places else ""


def tree(folder: Path) -> dict[str, bytes]:
    """Contents of all regular files below a folder, by path."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.is_symlink()
    }


Check = Callable[[], str]


def judged(
    tally: Tally, kind: str, how: str, words: tuple[Any, ...], kept: Path, check: Check = str
) -> Ran:
    """Try `words`, look whether files below `kept` are as before, and ask `check` of exit 0.

    Parameters
    ----------
    check : function
        Returns what is wrong with the result, "" where it is right.
    """
    before = tree(kept)
    ran = attempt(*words)
    came = outcome(ran)
    lost = [name for name, data in before.items() if _changed(kept / name, data)]
    wrong = check() if ran.code == 0 and came == RIGHT else ""
    came = LOST if lost else WRONG if wrong else came
    what = wrong or ", ".join(lost) or f"{where(ran)} {last_line(ran)}"
    tally.add(kind, came, f"{how}: {' '.join(str(w) for w in words)}: {what}")
    return ran


def _changed(path: Path, data: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != data
