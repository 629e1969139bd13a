"""An iterator read ahead by a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from queue import SimpleQueue
from typing import Generic, TypeVar

from .errors import EngineError

Item = TypeVar("Item")


class _End:
    """No more items; what ended them, where it was an error."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class Ahead(Generic[Item]):
    """The items of a generator, at most `size` of them read and not yet taken.

    An error of the generator comes out where the items are taken, after those before it.
    :meth:`close` ends the thread after the item that it is reading, and whoever waits for an item.

    Examples
    --------
    >>> with Ahead((i * i for i in range(4)), 2) as squares:
    ...     list(squares)
    [0, 1, 4, 9]
    """

    def __init__(self, items: Generator[Item, None, None], size: int) -> None:
        if size < 1:
            raise EngineError(f"prefetch is {size}: give 1 or more.")
        self._items = items
        self._free = threading.Semaphore(size)
        self._taken = SimpleQueue[tuple[Item] | _End]()
        self._closed = False
        self._thread = threading.Thread(target=self._read, name="gradfeat-reader", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        error = None
        try:
            while self._free.acquire() and not self._closed:
                self._taken.put((next(self._items),))
        except StopIteration:
            pass
        except BaseException as raised:
            error = raised
        self._items.close()
        self._taken.put(_End(error))

    def __iter__(self) -> Iterator[Item]:
        """Take the items; once."""
        while True:
            match self._taken.get():
                case _End(error=error):
                    if error is not None:
                        raise error
                    return
                case _ if self._closed:
                    return
                case (item,):
                    self._free.release()
                    yield item
                    del item

    def close(self) -> None:
        """Read no more, and wait for the thread."""
        self._closed = True
        self._free.release()
        self._thread.join()

    def __enter__(self) -> Ahead[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
