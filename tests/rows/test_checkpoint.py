"""A pass that was interrupted, killed or failed goes on, with the same bits."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

import pytest
import torch
from engine_rows import Bad, Deadly, Empty, drawn, reads, with_piece

from gradfeat.errors import EngineError, SourceError
from gradfeat.maths.activations import ReLU
from gradfeat.maths.blocks import Block
from gradfeat.maths.statistics.combined import Chain, OnMapped
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient
from gradfeat.maths.statistics.moments import Moments, MomentState
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.in_process import InProcess, Threads
from gradfeat.rows.on_workers import Pool

HERE = Path(__file__).parent
W = torch.tensor([[1.0, -0.5, 0.2], [0.3, 0.1, -0.7]], dtype=torch.float64)
GRADIENT = FirstLayerGradient(W, W[:, 0], W[:, 1:2], ReLU())
KILLED = """
import sys
from pathlib import Path
from types import ModuleType
from test_checkpoint import GRADIENT, deadly
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.in_process import InProcess
folder = Path(sys.argv[1])
InProcess(checkpoint=Checkpoint(folder / "kept", every=0.0)).state(GRADIENT, deadly(folder))
"""


def deadly(folder):
    return with_piece(drawn(23, folder / "log"), 13, Deadly)


def agree(one, other):
    names = ("weight", "mean_x", "xy", "yy")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def stop_after(pieces, error=KeyboardInterrupt):
    def report(tick):
        if tick.pieces == pieces:
            raise error

    return report


@pytest.fixture
def kept(tmp_path):
    return Checkpoint(tmp_path / "kept")


@pytest.mark.parametrize("engine", [InProcess(), Threads(2)])
@pytest.mark.parametrize("stop", [1, 7, 8])
def test_an_interrupted_pass_goes_on_where_it_was(kept, tmp_path, engine, stop):
    log = tmp_path / "log"
    with pytest.raises(KeyboardInterrupt):
        InProcess(report=stop_after(stop), checkpoint=kept).state(Moments(), drawn(11, log))
    log.unlink()
    ticks = []
    again = replace(engine, report=ticks.append, checkpoint=kept)
    found = again.state(Moments(), drawn(11, log))
    assert sorted(reads(log)) == list(range(stop, 11))
    assert agree(found, InProcess().state(Moments(), drawn(11)))
    assert (ticks[0].pieces, ticks[-1].pieces, ticks[-1].rows) == (stop, 11, (11 - stop) * 13)


@pytest.mark.slow
def test_a_pool_goes_on_too(kept):
    with pytest.raises(KeyboardInterrupt):
        InProcess(report=stop_after(5), checkpoint=kept).state(Moments(), drawn(40))
    with Pool(1, checkpoint=kept) as pool:
        found = pool.state(Moments(), drawn(40))
    assert agree(found, InProcess().state(Moments(), drawn(40)))


def test_a_killed_process_goes_on(tmp_path):
    (tmp_path / "kill-1").touch()
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, cwd=HERE, check=False)
    assert done.returncode == -signal.SIGKILL
    log = tmp_path / "log"
    log.unlink()
    kept = Checkpoint(tmp_path / "kept")
    found = InProcess(checkpoint=kept).state(GRADIENT, deadly(tmp_path))
    first = min(reads(log))
    assert 8 <= first <= 13  # read ahead by three at the most, and saved at every piece
    assert reads(log) == list(range(first, 23))
    expected = InProcess().state(GRADIENT, drawn(23))
    assert torch.equal(found.WT, expected.WT)
    assert torch.equal(found.b, expected.b)


def test_a_finished_pass_is_not_computed_again(kept, tmp_path):
    log = tmp_path / "log"
    engine = InProcess(checkpoint=kept)
    one = engine.state(Moments(), drawn(5, log), "first")
    other = engine.state(Moments(), drawn(5, log), "first")
    assert agree(one, other)
    assert len(reads(log)) == 5


@pytest.mark.parametrize(
    ("statistic", "change", "label"),
    [
        (Moments(), {}, "second"),
        (Moments(row_bytes=8), {}, "first"),
        (Moments(), {"print": "written since"}, "first"),
    ],
)
def test_another_pass_is_another_pass_and_leaves_the_first_alone(
    kept, tmp_path, statistic, change, label
):
    log = tmp_path / "log"
    engine = InProcess(checkpoint=kept)
    engine.state(Moments(), drawn(5, log), "first")
    engine.state(statistic, replace(drawn(5, log), **change), label)
    assert len(reads(log)) == 10
    engine.state(Moments(), drawn(5, log), "first")
    assert len(reads(log)) == 10


def test_an_error_keeps_what_was_summed(kept, tmp_path):
    log = tmp_path / "log"
    with pytest.raises(SourceError, match="piece 6"):
        InProcess(checkpoint=kept).state(Moments(), with_piece(drawn(9, log), 6, Bad))
    log.unlink()
    InProcess(checkpoint=kept).state(Moments(), drawn(9, log))
    assert min(reads(log)) in (5, 6)


@dataclass(frozen=True)
class HalfMerged(Moments):
    """Is interrupted in the middle of its third merge."""

    def merge(self, one: MomentState, other: MomentState) -> MomentState:
        if MERGES:
            MERGES.pop()
            return super().merge(one, other)
        one.mean_x.fill_(7.0)
        MERGES.extend(range(100))
        raise KeyboardInterrupt


MERGES: list[int] = []


def test_an_interrupted_merge_is_never_saved(tmp_path):
    MERGES[:] = range(2)
    kept = Checkpoint(tmp_path / "kept", every=0.0)
    engine = InProcess(checkpoint=kept)
    with pytest.raises(KeyboardInterrupt):
        engine.state(HalfMerged(), drawn(11))
    assert agree(engine.state(HalfMerged(), drawn(11)), InProcess().state(Moments(), drawn(11)))


def test_nothing_is_saved_before_its_time(tmp_path):
    found = []

    def report(_):
        found.append(len(list(tmp_path.rglob("*.safetensors"))))

    for every in (1e6, 0.0):
        kept = Checkpoint(tmp_path / str(every), every=every)
        InProcess(report=report, checkpoint=kept).state(Moments(), drawn(7))
    assert found[:8] == [0] * 8
    # one file for the sum of the first pass, and as many as the number of pieces has binary ones
    assert found[8:] == [1 + count.bit_count() for count in range(8)]


def test_pieces_without_rows_are_kept(kept):
    source = with_piece(with_piece(drawn(6), 4, Empty), 0, Empty)
    with pytest.raises(KeyboardInterrupt):
        InProcess(report=stop_after(5), checkpoint=kept).state(Moments(), source)
    found = InProcess(checkpoint=kept).state(Moments(), source)
    assert agree(found, InProcess().state(Moments(), source))


@pytest.mark.parametrize("pattern", ["*.safetensors", "manifest.json"])
@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b[:-9] + b"x" + b[-8:], None])
def test_a_damaged_file_is_refused(kept, tmp_path, pattern, damage):
    with pytest.raises(KeyboardInterrupt):
        InProcess(report=stop_after(4), checkpoint=kept).state(Moments(), drawn(6))
    (path,) = tmp_path.rglob(pattern)
    if damage is not None:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
        path.mkdir()
    with pytest.raises(EngineError, match=rf"{path.name}' is damaged or cannot be read: remove"):
        InProcess(checkpoint=kept).state(Moments(), drawn(6))
    if damage is not None:
        kept.clear()
        InProcess(checkpoint=kept).state(Moments(), drawn(6))


@pytest.mark.parametrize("body", [None, 3, [], "null", "[]", '{"nodes": null, "total": null}'])
def test_a_manifest_of_right_form_and_wrong_content_is_refused(kept, tmp_path, body):
    with pytest.raises(KeyboardInterrupt):
        InProcess(report=stop_after(4), checkpoint=kept).state(Moments(), drawn(6))
    (path,) = tmp_path.rglob("manifest.json")
    digest = blake2b(str(body).encode(), digest_size=16).hexdigest()
    path.write_text(json.dumps({"digest": digest, "body": body}))
    with pytest.raises(EngineError, match=r"manifest.json' is damaged or cannot be read: remove"):
        InProcess(checkpoint=kept).state(Moments(), drawn(6))


def test_a_full_disk_is_one_sentence_and_the_last_saving_is_kept(kept, tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        InProcess(report=stop_after(4), checkpoint=kept).state(Moments(), drawn(12))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("gradfeat.rows.checkpoint.replace_file", full)
        hasty = InProcess(checkpoint=replace(kept, every=0.0))
        with pytest.raises(EngineError, match=r"No space left on device\): free or name another"):
            hasty.state(Moments(), drawn(12))
        with pytest.raises(KeyboardInterrupt) as raised:
            InProcess(report=stop_after(6), checkpoint=kept).state(Moments(), drawn(12))
        assert "No space left" in raised.value.__notes__[0]
    log = tmp_path / "log"
    found = InProcess(checkpoint=kept).state(Moments(), drawn(12, log))
    assert reads(log) == list(range(4, 12))
    assert agree(found, InProcess().state(Moments(), drawn(12)))


def test_a_folder_that_cannot_be_made_is_refused_before_work(tmp_path):
    (tmp_path / "file").touch()
    log = tmp_path / "log"
    with pytest.raises(EngineError, match=r"^the checkpoint cannot be written to '.*file"):
        InProcess(checkpoint=Checkpoint(tmp_path / "file")).state(Moments(), drawn(3, log))
    assert not reads(log)


def test_clear_removes_what_is_kept_and_nothing_else(kept, tmp_path):
    InProcess(checkpoint=kept).state(Moments(), drawn(3))
    (tmp_path / "kept" / "mine.txt").touch()
    kept.clear()
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]
    (tmp_path / "kept" / "mine.txt").unlink()
    kept.clear()
    assert not (tmp_path / "kept").exists()
    kept.clear()


def test_passes_of_another_that_shares_the_folder_stay(kept):
    InProcess(checkpoint=kept).state(Moments(), drawn(3))
    other = Checkpoint(kept.folder)
    InProcess(checkpoint=other).state(Moments(), drawn(4))
    there = set(Path(kept.folder).iterdir())
    other.clear_opened()
    (left,) = Path(kept.folder).iterdir()
    assert left in there
    kept.clear_opened()
    assert not Path(kept.folder).exists()


FUNCTION = """
def change(block):
    return Block(block.X * SCALE, block.y, block.w)
"""
CALLED = """
@dataclass(frozen=True)
class Change:
    shift: float = 1.0
    def __call__(self, block):
        return Block(block.X * SCALE + self.shift, block.y, block.w)
change = Change()
"""


@pytest.mark.parametrize("text", [FUNCTION, CALLED])
def test_an_edited_map_is_another_pass(kept, tmp_path, monkeypatch, text):
    """Pickle writes a function or class by name."""
    module = ModuleType("maps_of_mine")
    monkeypatch.setitem(sys.modules, "maps_of_mine", module)
    vars(module).update(Block=Block, dataclass=dataclass)
    log, found = tmp_path / "log", []
    for scale in ("1.0", "1.0", "2.0"):
        exec(text.replace("SCALE", scale), vars(module))
        statistic = OnMapped(Moments(), Chain((module.change,)))
        found.append(InProcess(checkpoint=kept).state(statistic, drawn(3, log)))
    assert len(reads(log)) == 6
    assert agree(found[0], found[1])
    assert not torch.equal(found[1].mean_x, found[2].mean_x)
