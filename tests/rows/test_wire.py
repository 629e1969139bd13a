"""What is sent is small, owned, and the same bytes each time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from hashlib import sha256

import pytest
import torch
from engine_rows import drawn

from gradfeat.errors import EngineError
from gradfeat.maths.activations import ReLU
from gradfeat.maths.blocks import Block
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient
from gradfeat.maths.statistics.moments import Moments
from gradfeat.rows.source import Piece
from gradfeat.rows.tree import Segment, fold_segment, segmented
from gradfeat.rows.wire import dumps, loads, pack_folded, segment_bytes, unpack_folded

GRADIENT = """
import sys, torch
from hashlib import sha256
from gradfeat.maths.activations import ReLU
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient
from gradfeat.rows.wire import dumps
W = torch.arange(12.0).reshape(4, 3)
print(sha256(dumps(FirstLayerGradient(W, W[:, 0], W[:, :1], ReLU()), "it")).hexdigest())
"""


def test_a_view_is_sent_without_the_rows_around_it():
    X = torch.randn(10_000, 5).double()
    block = Block(X[:10], X[:10, :1], X[:10, 0])
    data = segment_bytes(Segment(0, (Piece("rows", partial(iter, [block])),)), parallel=False)
    assert len(data) < 10 * 7 * 8 + 2000
    (back,) = loads(data, "it").pieces[0].read()
    assert torch.equal(back.X, block.X)
    assert torch.equal(back.w, block.w)
    back.X.zero_()  # it owns its memory
    assert torch.equal(X[:10], block.X)


@pytest.mark.slow
def test_bytes_are_those_of_another_process():
    run = [sys.executable, "-c", GRADIENT]
    found = {subprocess.run(run, capture_output=True, text=True, check=True).stdout}
    W = torch.arange(12.0).reshape(4, 3)
    here = dumps(FirstLayerGradient(W, W[:, 0], W[:, :1], ReLU()), "it")
    assert found == {sha256(here).hexdigest() + "\n"}


def test_states_come_back_as_they_were():
    segment = next(segmented(drawn(3).pieces(), 0, 2))
    folded = fold_segment(Moments(), segment)
    sent = pickle.loads(pickle.dumps(pack_folded(Moments(), folded)))
    back = unpack_folded(Moments(), sent)
    assert (back.rows, back.pieces, len(back.nodes)) == (3 * 13, 3, 2)
    for one, other in zip(folded.nodes, back.nodes, strict=True):
        assert one.state is not None
        assert other.state is not None
        assert torch.equal(one.state.xx.triu(), other.state.xx)
        assert torch.equal(one.state.weight, other.state.weight)


def test_what_cannot_be_imported_is_one_sentence():
    data = dumps(drawn, "the source").replace(b"engine_rows", b"engine_rowz")
    with pytest.raises(EngineError, match=r"^the source cannot be loaded by a worker"):
        loads(data, "the source")
