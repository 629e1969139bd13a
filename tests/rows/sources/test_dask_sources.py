"""Dask collections as sources: parts carry their own tasks and are computed where they are read."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.errors import SourceError
from gradfeat.rows.sources.dask import DaskArrayRows, DaskTables

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

FRAME = pd.DataFrame({"a": np.arange(1000.0), "b": np.arange(1000), "t": ["u", "v"] * 500})
X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20.0)


def chunks(source):
    return [chunk for piece in source.pieces() for chunk in piece.read()]


def test_each_partition_is_a_piece_with_its_own_tasks_alone():
    frame = dd.from_pandas(FRAME, npartitions=10)
    table = DaskTables(frame.assign(c=frame.a * 2)).select(["c", "t"])
    assert (table.count, table.rows, table.names) == (10, None, ("c", "t"))
    sent = [pickle.dumps(piece) for piece in table.pieces()]
    assert max(map(len, sent)) < len(pickle.dumps(FRAME)) / 2
    read = pd.concat(chunk for data in sent for chunk in pickle.loads(data).read())
    assert read.c.tolist() == (FRAME.a * 2).tolist()
    assert table.fingerprint == table.fingerprint != DaskTables(frame).fingerprint


def test_a_filter_may_leave_empty_partitions():
    frame = dd.from_pandas(FRAME, npartitions=4)
    assert [len(chunk) for chunk in chunks(DaskTables(frame[frame.b < 300]))] == [250, 50, 0, 0]


def test_a_task_that_fails_is_named_with_its_partition():
    def fail(part):
        if 500 in part.b.to_numpy():
            raise KeyError("lost")
        return part

    frame = dd.from_pandas(FRAME, npartitions=4).map_partitions(fail, meta=FRAME)
    pieces = list(DaskTables(frame).pieces())
    assert len(next(pieces[1].read())) == 250
    with pytest.raises(SourceError, match=r"partition 2 of the Dask DataFrame .*KeyError: 'lost'"):
        list(pieces[2].read())


@pytest.mark.parametrize("error", [MemoryError, ConnectionResetError])
def test_memory_and_connections_are_not_faults_of_the_graph(error):
    def fail(part):
        del part
        raise error("gone")

    frame = dd.from_pandas(FRAME, npartitions=1).map_partitions(fail, meta=FRAME)
    (piece,) = DaskTables(frame).pieces()
    with pytest.raises(error, match="gone"):
        list(piece.read())


@pytest.mark.parametrize("weights", [None, np.ones(20)])
def test_arrays_are_read_by_row_chunks_with_all_columns(weights):
    w = None if weights is None else da.from_array(weights, chunks=20)
    source = DaskArrayRows(da.from_array(X, chunks=(7, 1)), da.from_array(Y, chunks=3), w)
    assert (source.count, source.columns.inputs) == (3, ("x0", "x1"))
    read = [b for p in source.pieces() for b in pickle.loads(pickle.dumps(p)).read()]
    assert [len(block.X) for block in read] == [7, 7, 6]
    np.testing.assert_array_equal(torch.cat([block.X for block in read]), X)
    np.testing.assert_array_equal(torch.cat([block.y for block in read])[:, 0], Y)


def test_row_chunks_of_unknown_length_are_read_where_there_are_as_many():
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=Y), npartitions=3)
    inputs, target = frame[["a", "b"]].values, frame.y.values
    source = DaskArrayRows(inputs, target)
    np.testing.assert_array_equal(torch.cat([block.X for block in chunks(source)]), X)
    with pytest.raises(SourceError, match="X has 3 row chunks and y has 2, of unknown"):
        DaskArrayRows(inputs, da.from_array(Y, chunks=10))


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ((X, Y), "X is a ndarray where a Dask Array is wanted"),
        ((da.ones(5), da.ones(5)), r"X has shape \(5,\)"),
        ((da.ones((5, 2)), da.ones(4)), "X has 5 rows and y has 4"),
        ((da.ones((5, 2)), da.ones(5), da.ones(4)), "X has 5 rows and w has 4"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(arrays, sentence):
    with pytest.raises(SourceError, match=sentence):
        DaskArrayRows(*arrays)


def test_values_missing_are_refused_naming_the_chunk():
    bad = X.copy()
    bad[15] = np.nan
    source = DaskArrayRows(da.from_array(bad, chunks=(10, 2)), da.from_array(Y, chunks=10))
    with pytest.raises(SourceError, match="row chunk 1 of the Dask arrays: X has 2 values"):
        chunks(source)


def test_partitions_that_a_cluster_holds_are_read_here_and_on_its_workers():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        pieces = list(DaskTables(client.persist(dd.from_pandas(FRAME, npartitions=3))).pieces())
        here = [sum(len(chunk) for chunk in piece.read()) for piece in pieces]
        there = client.map(lambda p: sum(len(c) for c in p.read()), pieces, pure=False)
        assert client.gather(there) == here
        assert sum(here) == len(FRAME)


def test_what_is_no_dask_frame_and_dask_that_is_not_there_are_refused(monkeypatch):
    with pytest.raises(SourceError, match="a DataFrame came where a Dask DataFrame is wanted"):
        DaskTables(FRAME)
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    with pytest.raises(SourceError, match=r"pip install 'gradfeat\[dask\]'"):
        DaskTables(FRAME)
