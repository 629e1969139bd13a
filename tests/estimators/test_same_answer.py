"""One fit, however its rows are cut, ordered, stored and computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradfeat import GradientFeatureRegressor
from gradfeat.rows import InProcess, Pool, Rows, Threads, from_arrays, from_npy, from_parquet

N, D = 2000, 5


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    return X, X[:, 0] ** 2 - X[:, 1] + 0.3 * rng.standard_normal(N)


def fitted(rows: Rows) -> GradientFeatureRegressor:
    model = GradientFeatureRegressor(width=32, whiten=True, alpha=10.0, search=None)
    return model.fit(rows)


def written(folder: Path, X, y, pieces: int) -> Rows:
    path, size = folder / f"{pieces}.parquet", -(-len(X) // pieces)
    names = [*(f"x{j}" for j in range(D)), "y"]
    pq.write_table(pa.table([*X.T, y], names=names), path, row_group_size=size)
    return from_parquet(str(path), "y", piece_rows=size)


def tensors(model: GradientFeatureRegressor) -> dict[str, np.ndarray]:
    return {name: t.numpy() for name, t in model.predictor_.tensors().items()}


@pytest.mark.parametrize("pieces", [1, 7, 50, pytest.param(1000, marks=pytest.mark.slow)])
def test_pieces_and_order_leave_rounding(table, pieces, tmp_path):
    X, y = table
    whole = fitted(from_arrays(X, y, piece_rows=N))
    order = np.random.default_rng(1).permutation(N)
    shuffled = (tmp_path / "shuffled").absolute()
    shuffled.mkdir()
    for rows in (written(tmp_path, X, y, pieces), written(shuffled, X[order], y[order], pieces)):
        assert rows.source.count == pieces
        found = fitted(rows)
        for name, values in tensors(whole).items():
            # Rounding times max(e) / lambda, here 2e-16 x 2e4 x what sums of 2,000 rows add.
            np.testing.assert_allclose(
                tensors(found)[name], values, rtol=0, atol=1e-10 * np.abs(values).max() + 1e-300
            )
        np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=0, atol=1e-12 * 30)


def test_who_computes_changes_no_bit(table, tmp_path):
    X, y = table
    rows = written(tmp_path, X, y, 7)
    whole = tensors(fitted(rows.on(InProcess())))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    size = -(-N // 7)
    mapped = from_npy(tmp_path / "X.npy", tmp_path / "y.npy", piece_rows=size)
    with Pool(1) as pool:  # several: of every statistic, in tests of engines
        ways = [
            rows.on(Threads(2)),
            rows.on(pool),
            mapped.on(InProcess()),
            from_arrays(X, y, piece_rows=size).on(Threads(1)),
        ]
        for way in ways:
            for name, values in tensors(fitted(way)).items():
                np.testing.assert_array_equal(values, whole[name])


@pytest.mark.slow
def test_a_cluster_changes_no_bit(table, tmp_path):
    pytest.importorskip("distributed")
    from gradfeat.rows import DaskEngine
    from gradfeat.rows.dask_client import local_cluster

    X, y = table
    rows = written(tmp_path, X, y, 7)
    whole = tensors(fitted(rows.on(InProcess())))
    with local_cluster(2) as client:
        found = tensors(fitted(rows.on(DaskEngine(client))))
    for name, values in found.items():
        np.testing.assert_array_equal(values, whole[name])
