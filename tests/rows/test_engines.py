"""Every engine of this machine: the same bits, in bounded memory, and nothing left behind."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest
import torch
from engine_rows import Bad, Empty, Pieces, Slow, drawn, with_piece
from torch import Tensor

from gradfeat.errors import EngineError, SourceError
from gradfeat.maths.activations import ReLU
from gradfeat.maths.blocks import Block, Statistic
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient
from gradfeat.maths.statistics.moments import Moments
from gradfeat.rows.engine import Engine
from gradfeat.rows.in_process import InProcess, Threads
from gradfeat.rows.on_workers import Devices, ExecutorEngine, Pool

W = torch.tensor([[1.0, -0.5, 0.2], [0.3, 0.1, -0.7]], dtype=torch.float64)
STATISTICS: list[Statistic[Any, Any, Any]] = [
    Moments(),
    FirstLayerGradient(W, W[:, 0], W[:, 1:2], ReLU()),
]
EXECUTOR = ThreadPoolExecutor(2)
LOCAL: list[Engine] = [
    ExecutorEngine(EXECUTOR, 2),
    InProcess(),
    InProcess(prefetch=5),
    Threads(2),
    Devices(("cpu", "cpu")),
]


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as pool:
        yield pool


def numbers(statistic, state):
    return [values.clone() for values in vars(statistic.finish(state)).values()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("count", [1, 11])
def test_same_bits_from_every_engine(pool, statistic, count):
    expected = numbers(statistic, InProcess().state(statistic, drawn(count)))
    for engine in [*LOCAL, pool]:
        found = numbers(statistic, engine.state(statistic, drawn(count)))
        assert same(found, expected), engine
    assert not same(expected, numbers(statistic, InProcess().state(statistic, drawn(count + 1))))


def test_same_bits_where_the_count_is_not_known(pool):
    source = Pieces(drawn(11).listed, known=False)
    expected = numbers(Moments(), InProcess().state(Moments(), drawn(11)))
    for engine in [*LOCAL, pool]:
        assert same(numbers(Moments(), engine.state(Moments(), source)), expected)


def test_sums_are_those_of_one_block(pool):
    blocks = [block for piece in drawn(5).pieces() for block in piece.read()]
    X = torch.cat([block.X for block in blocks])
    state = pool.state(Moments(), drawn(5))
    assert state.weight == len(X)
    # rounding: some 65 additions of values up to 5e4, so 65 * 2^-53 * 5e4 is far below 1e-8
    torch.testing.assert_close(state.mean_x, X.mean(0), rtol=0, atol=1e-8)


@pytest.mark.parametrize("engine", LOCAL)
def test_progress_counts_pieces_and_rows(engine):
    ticks = []
    type(engine)(**{**vars(engine), "report": ticks.append}).state(Moments(), drawn(20), "moments")
    pieces = [tick.pieces for tick in ticks]
    assert pieces[0] == 0
    assert pieces[-1] == 20
    assert pieces == sorted(set(pieces))
    assert (ticks[-1].rows, ticks[-1].of, ticks[-1].label) == (20 * 13, 20, "moments")


def test_pieces_without_rows_do_not_count(pool):
    source = with_piece(with_piece(drawn(6), 2, Empty), 3, Empty)
    expected = numbers(Moments(), InProcess().state(Moments(), source))
    assert expected[0] == 4 * 13
    for engine in [*LOCAL, pool]:
        assert same(numbers(Moments(), engine.state(Moments(), source)), expected)


def test_no_rows_at_all_are_refused(pool):
    for engine in [*LOCAL, pool]:
        for source in (Pieces(()), Pieces((Empty(0), Empty(1)))):
            with pytest.raises(SourceError, match="there are no rows"):
                engine.state(Moments(), source)


def ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("gradfeat")]


def test_errors_of_pieces_come_out_as_they_are(pool):
    for engine in [*LOCAL, pool]:
        with pytest.raises(SourceError, match=r"^piece 3 is damaged: write it again\.$"):
            engine.state(Moments(), with_piece(drawn(9), 3, Bad))
        assert not ours()


class Stop(Exception):
    """Of whoever is told."""


@pytest.mark.parametrize("stop", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("kind", [InProcess, Threads, lambda **k: Devices(("cpu",), **k)])
def test_no_thread_is_left_when_the_listener_raises(kind, stop):
    def report(tick):
        if tick.pieces:
            raise stop

    source = Pieces(tuple(Slow(i) for i in range(50)))
    with pytest.raises(stop):
        kind(report=report).state(Moments(), source)
    assert not ours()
    assert len(source.taken) < 50


class Held:
    """A number that can be counted while it lives."""

    def __init__(self, value: float) -> None:
        self.value = value


@dataclass(frozen=True)
class Counting(Statistic[Block, Held, float]):
    """Number of rows; knows how many states live at once."""

    living: weakref.WeakSet[Held] = field(default_factory=weakref.WeakSet)
    most: list[int] = field(default_factory=list)

    def _held(self, value: float) -> Held:
        held = Held(value)
        self.living.add(held)
        self.most.append(len(self.living))
        return held

    def init(self, block: Block) -> Held:
        return self._held(0.0 * len(block.X))

    def update(self, state: Held, block: Block) -> Held:
        state.value += len(block.X)
        return state

    def merge(self, one: Held, other: Held) -> Held:
        one.value += other.value
        return one

    def finish(self, state: Held) -> float:
        return state.value

    def pack(self, state: Held) -> dict[str, Tensor]:
        return {"value": torch.tensor(state.value)}

    def unpack(self, packed: Mapping[str, Tensor]) -> Held:
        return self._held(float(packed["value"]))


def test_few_states_live_at_once():
    statistic = Counting()
    assert InProcess().state(statistic, drawn(256)).value == 256 * 13
    assert max(statistic.most) <= 8 + 3  # a node of each level, the next piece, one being merged


def test_few_states_live_at_once_in_threads():
    statistic = Counting()
    assert Threads(2).state(statistic, drawn(256)).value == 256 * 13
    assert max(statistic.most) <= 8 + 8 + 3  # those of a window of 8 pieces besides


@dataclass(frozen=True)
class ThreadNumbers(Counting):
    """Notes the thread settings under which it computes."""

    seen: set[int] = field(default_factory=set)

    def update(self, state: Held, block: Block) -> Held:
        self.seen.add(torch.get_num_threads())
        return super().update(state, block)


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
def test_threads_compute_with_one_torch_thread_each_and_restore():
    statistic = ThreadNumbers()
    Threads(2).state(statistic, drawn(8))
    assert statistic.seen == {1}
    assert torch.get_num_threads() == 3
    with ThreadPoolExecutor(1) as fresh:  # a thread that starts later takes the process's setting
        assert fresh.submit(torch.get_num_threads).result() == 3
    with pytest.raises(SourceError):
        Threads(2).state(statistic, with_piece(drawn(8), 3, Bad))
    assert torch.get_num_threads() == 3
    InProcess().state(statistic, drawn(8))
    assert statistic.seen == {1, 3}


@pytest.mark.parametrize("on", [True, False])
def test_threads_follow_the_caller_in_gradients(on):
    seen = set()

    class Watching(Counting):
        def update(self, state: Held, block: Block) -> Held:
            seen.add(torch.is_grad_enabled())
            return super().update(state, block)

    with torch.set_grad_enabled(on):
        Threads(2).state(Watching(), drawn(8))
    assert seen == {on}


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(EngineError, match="n is 0"):
        Threads(0).state(Moments(), drawn(1))
    with pytest.raises(EngineError, match="jobs is 0"):
        Pool(0).state(Moments(), drawn(1))
    with pytest.raises(EngineError, match="no device"):
        Devices(()).state(Moments(), drawn(1))
    with pytest.raises(EngineError, match="device 'cuda:77' cannot be used"):
        Devices(("cuda:77",)).state(Moments(), drawn(1))
    with pytest.raises(EngineError, match="prefetch is 0"):
        InProcess(prefetch=0).state(Moments(), drawn(1))


@pytest.mark.parametrize("package", ["gradfeat", "gradfeat.rows", "gradfeat.lab"])
def test_every_public_name_is_there(package):
    """Names are imported where they are first asked for: a module that moved is seen here."""
    module = import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)
