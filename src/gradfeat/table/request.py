"""What is asked of a table, and how far the answer is: its steps, and the passes within them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from gradfeat.maths.limits import NEVER, Deadline
from gradfeat.rows.engine import Tick
from gradfeat.rows.sources.text_options import FOUND, TextOptions
from gradfeat.table.methods import METHODS, WIDTH
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.results import PassTime
from gradfeat.table.target import Transform
from gradfeat.wording import as_there, duration


@dataclass(frozen=True)
class Request:
    """What a comparison or a diagnosis is asked for: options of `gradfeat fit` and `diagnose`."""

    data: str
    target: str
    task: Literal["auto", "regression", "classification"] = "auto"
    methods: tuple[str, ...] = tuple(m.name for m in METHODS)
    seconds: float = 60.0
    seed: int = 0
    time_column: str | None = None
    group_column: str | None = None
    device: str | None = None
    command: str = ""
    missing_target: Literal["drop", "refuse"] = "drop"
    ignore: tuple[str, ...] = ()
    width: int = WIDTH
    missing: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    dates: DateOrder = ""
    decimal: str = ""
    rare_classes: Literal["refuse", "drop", "merge"] = "refuse"
    text: TextOptions = FOUND
    keep_identifiers: bool = False
    target_transform: Transform = "none"

    @property
    def wanted(self) -> TextOptions:
        """What is known of the text that the table is in, the columns that are named among it."""
        wanted = (self.target, *self.held_out_by, *self.ignore, *self.category)
        return replace(self.text, wanted=wanted)

    def spelt(self, names: Iterable[str]) -> Request:
        """With its columns as the table names them, where blanks around them are others."""
        when, who = (n and as_there(n, names) for n in (self.time_column, self.group_column))
        target = as_there(self.target, names)
        return replace(self, target=target, time_column=when, group_column=who)

    @property
    def held_out_by(self) -> tuple[str, ...]:
        """Columns by which rows are held out."""
        return tuple(n for n in (self.time_column, self.group_column) if n is not None)

    @property
    def not_inputs(self) -> tuple[str, ...]:
        """Columns that are read and no model's: the target, groups, and times to be ignored."""
        groups = () if self.group_column is None else (self.group_column,)
        times = () if self.time_column not in self.ignore else (self.time_column,)
        return (self.target, *groups, *times)


#: Processor seconds of a page, and for each column, which has a line on it; the most that is kept
#: of what was asked.
PAGE_SECONDS, PAGE_COLUMN, MOST_RESERVED = 2.5, 1e-3, 0.3

#: Told the name of a step, the share of all the work that is done (0 to 1), and further words:
#: none when a step begins.
Told = Callable[[str, float, str], None]


def silent(name: str, done: float, words: str) -> None:
    """Where nobody asked to be told."""
    del name, done, words


@dataclass(eq=False)
class Steps:
    """Tells how far it is, and keeps the times of passes: the reporter that an engine is made with.

    `told` hears when a step begins, and of every tick of a pass within it. All is to be done by
    the `deadline`. The work began at `start`, by ``time.perf_counter``, when this process had
    taken `processor` seconds.

    >>> steps = Steps(lambda *words: print(*words, sep="; "))
    >>> steps.begin("Linear model", 0.25, "as it begins")
    Linear model; 0.25; as it begins
    >>> steps(Tick("moments", 2, 4, 10.0, 2000))
    Linear model; 0.25; moments, 50 %, 200 rows/s, about 10 s left
    """

    told: Told = silent
    deadline: Deadline = NEVER
    start: float = field(default_factory=time.perf_counter)
    processor: float = field(default_factory=time.process_time)
    _taken: list[PassTime] = field(default_factory=list)
    _step: str = ""
    _done: float = 0.0
    _begun_at: int = 0
    _last: Tick | None = None

    @property
    def seconds(self) -> float:
        """Wall time since the start of the work."""
        return time.perf_counter() - self.start

    @property
    def busy(self) -> float:
        """Wall seconds for one of the processor, so far: above 1 on a machine with other work."""
        return max(1.0, self.seconds / max(time.process_time() - self.processor, 0.1))

    def finished(self) -> list[PassTime]:
        """The passes so far, with their rows and seconds."""
        self._close()
        return self._taken

    def page_begins(self, seconds: float, columns: int) -> Deadline:
        """When what is left of the `seconds` asked is for reading the best model and the page."""
        needed = self.busy * (PAGE_SECONDS + PAGE_COLUMN * columns)
        return self.deadline.before(min(MOST_RESERVED * seconds, needed))

    def tell(self, words: str) -> None:
        """How far the present step is, in words."""
        self.told(self._step, self._done, words)

    def begin(self, step: str, done: float, words: str = "") -> None:
        """A step begins, when so much of the work is done."""
        self._close()
        self._step, self._done = step, done
        self.told(step, done, words)

    def __call__(self, tick: Tick) -> None:
        """A pass begins, or some of its pieces are summed."""
        if tick.seconds == 0.0:
            self._close()
            self._begun_at = tick.pieces
        self._last = tick
        words = ", ".join([tick.label, *_words(tick, self._begun_at)])
        self.told(self._step, self._done, words)

    def _close(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            self._taken.append(PassTime(f"{self._step}: {last.label}", last.rows, last.seconds))


def _words(tick: Tick, begun_at: int) -> list[str]:
    """Rows a second and the time left of a pass that began at so many pieces."""
    parts, done = [], tick.pieces - begun_at
    if tick.of:
        parts.append(f"{100 * tick.pieces / tick.of:.0f} %")
    if tick.rows and tick.seconds:
        parts.append(f"{tick.rows / tick.seconds:,.0f} rows/s")
    if tick.of and done > 0 and tick.pieces < tick.of:
        left = tick.seconds * (tick.of - tick.pieces) / done
        parts.append(f"about {duration(left)} left")
    if tick.of and tick.pieces == tick.of and not tick.rows:
        parts.append("done before")
    return parts
