"""When the time that was given is over: one deadline for a piece of work, and shares of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import final

#: Seconds that may be asked for at most: a week.
LONGEST = 604_800.0


@final
@dataclass(frozen=True)
class Deadline:
    """A moment by a clock that never goes back."""

    end: float  # the moment, in seconds of the clock; infinite: never
    clock: Callable[[], float] = time.monotonic  # tells the seconds; tests give their own

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        return cls(clock() + seconds, clock)

    @property
    def left(self) -> float:
        """Seconds until it; 0 where it has passed."""
        return max(0.0, self.end - self.clock())

    @property
    def passed(self) -> bool:
        return self.clock() >= self.end

    def part(self, share: float) -> Deadline:
        """When this share of the seconds that are left is over."""
        return self if math.isinf(self.end) else Deadline.after(share * self.left, self.clock)

    def before(self, seconds: float) -> Deadline:
        """The deadline of what must leave so many seconds for something after it."""
        return Deadline(self.end - seconds, self.clock)


#: Of work that may take as long as it does.
NEVER = Deadline(math.inf)


@dataclass(frozen=True)
class _WithinTime:
    deadline: Deadline
    told: Callable[[str], None]


_NOBODY = _WithinTime(NEVER, lambda _: None)
_watch: ContextVar[_WithinTime] = ContextVar("watch", default=_NOBODY)


@contextmanager
def within(deadline: Deadline, told: Callable[[str], None] | None = None) -> Iterator[None]:
    """Within the block, what can stop early does so at the deadline, and tells how far it is.

    For callers with a time budget; without it the result of a search depends on the data only.
    """
    token = _watch.set(_WithinTime(deadline, told or _watch.get().told))
    try:
        yield
    finally:
        _watch.reset(token)


def deadline_passed() -> bool:
    """Whether the time of :func:`within` is over."""
    return _watch.get().deadline.passed


def tell(words: str) -> None:
    """How far it is, to whoever asked with :func:`within`."""
    _watch.get().told(words)
