"""The smallest files that the campaign found, each of which once gave a traceback or was accepted.

Their checksums are right: a checksum tells of accidents, not of who wrote a file.
"""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
import zlib
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as from_bytes
from sklearn.linear_model import Ridge, RidgeClassifier

from gradfeat import LinearRegressor, load, save
from gradfeat.errors import EngineError, ModelFileError, SourceError, StoreError
from gradfeat.estimators.container import read, rebuilding
from gradfeat.lab import Experiment, Store, run
from gradfeat.lab.outcomes import PackedArray, unpack
from gradfeat.maths.statistics.combined import Joint
from gradfeat.maths.statistics.moments import Moments
from gradfeat.maths.unpacking import TooMuch, check_zip, gunzip, inflate
from gradfeat.rows import from_arrays
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.open import tables
from gradfeat.table.table_model import TableModel
from hostile.damage import rewrite, write_state

ONE_SENTENCE = r"^m holds a model that this gradfeat cannot rebuild \([^\n]*\): restore [^\n]*\.$"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A bare estimator and one with its table, saved."""
    folder = tmp_path_factory.mktemp("models")
    X = np.linspace(-1, 1, 20)[:, None]
    save(LinearRegressor().fit(X, X[:, 0]), folder / "bare")
    frame = pd.DataFrame({"a": X[:, 0], "kind": ["p", "q"] * 10})
    save(TableModel(Ridge()).fit(frame, frame["a"]), folder / "table")
    return folder


@pytest.mark.parametrize("name", ["bare", "table"])
@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "{", "[" * 100_000, '{"a":' * 9000])
def test_a_state_that_is_another_is_refused(models, tmp_path, name, text):
    contents = read(models / name)
    write_state(tmp_path / "m", contents.kind, text, dict(contents.arrays))
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(tmp_path / "m")


def test_an_estimator_of_another_task_is_refused(models, tmp_path):
    """A file that says so: fields of a saved model of a quantity with a list of classes."""
    contents = read(models / "table")
    for classes in (["p", "q"], ["p", "q", "r"]):
        state = {**contents.state, "classes": classes}
        write_state(tmp_path / "m", contents.kind, json.dumps(state), dict(contents.arrays))
        with pytest.raises(ModelFileError, match="classes and an estimator of others: restore"):
            load(tmp_path / "m")
    frame = pd.DataFrame({"a": np.arange(12.0)})
    save(TableModel(RidgeClassifier()).fit(frame, np.arange(12) % 3), tmp_path / "three")
    contents = read(tmp_path / "three")
    state = {**contents.state, "classes": ["0", "1"]}
    write_state(tmp_path / "m", contents.kind, json.dumps(state), dict(contents.arrays))
    with pytest.raises(ModelFileError, match="holds a model of 2 classes and an estimator of"):
        load(tmp_path / "m")


def test_names_of_columns_are_taken_only_where_a_file_says_so(models, tmp_path):
    contents = read(models / "bare")
    state = {**contents.state, "named": "[[[]]]"}
    write_state(tmp_path / "m", contents.kind, json.dumps(state), dict(contents.arrays))
    assert load(tmp_path / "m").predict(np.zeros((1, 1))).shape == (1,)  # without a warning


@pytest.mark.parametrize(
    ("field", "value"), [("thousands", []), ("bare", [[]]), ("scaled", 2), ("unit", None)]
)
def test_a_format_of_other_types_is_refused(models, tmp_path, field, value):
    contents = read(models / "table")
    state = json.loads(json.dumps(contents.state))
    plans = state["parts"]["encoder"]["state"]["plans"]
    next(plan for plan in plans if "format" in plan)["format"][field] = value
    write_state(tmp_path / "m", contents.kind, json.dumps(state), dict(contents.arrays))
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(tmp_path / "m")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_with_arrays_that_are_not_finite_does_not_load(models, tmp_path, value):
    contents = read(models / "bare")
    arrays = {name: np.full_like(a, value) for name, a in contents.arrays.items()}
    write_state(tmp_path / "m", contents.kind, json.dumps(contents.state), arrays)
    with pytest.raises(ModelFileError, match="not finite"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    "hurt",
    [
        lambda a: a[None],
        lambda a: a.reshape(-1)[0],
        lambda a: a.reshape(-1),
        lambda a: a.astype("i1"),
    ],
)
def test_arrays_of_other_shapes_are_refused_when_a_model_is_loaded(models, tmp_path, hurt):
    contents = read(models / "bare")
    name = "predictor.beta"
    arrays = {**contents.arrays, name: hurt(contents.arrays[name])}
    write_state(tmp_path / "m", contents.kind, json.dumps(contents.state), arrays)
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(tmp_path / "m")


@pytest.mark.parametrize("value", [None, 3, "x", [], {"a": 1}, [[]]])
@pytest.mark.parametrize("key", ["plans", "encoded"])
def test_an_encoder_with_another_part_is_refused_when_it_is_loaded(models, tmp_path, key, value):
    contents = read(models / "table")
    state = json.loads(json.dumps(contents.state))
    state["parts"]["encoder"]["state"][key] = value
    write_state(tmp_path / "m", contents.kind, json.dumps(state), dict(contents.arrays))
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(tmp_path / "m")


def test_what_is_rebuilt_from_a_file_fails_in_one_sentence():
    with pytest.raises(ModelFileError, match=ONE_SENTENCE), rebuilding("m"):
        raise AttributeError("'int' object has\nno attribute 'x'")


# ---- what is packed


@pytest.fixture
def little(monkeypatch):
    """What may be unpacked whatever its size was."""
    monkeypatch.setattr("gradfeat.maths.unpacking.FREE", 2**20)


@pytest.mark.usefixtures("little")
def test_a_gz_bomb_is_refused_while_it_is_small(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"x,y\n" + b"0,0\n" * 400_000, 9))
    with pytest.raises(SourceError, match=r"'.*t\.csv\.gz' unpacks to more than 200 times"):
        [list(piece.read()) for piece in tables(str(tmp_path / "t.csv.gz")).pieces()]


@pytest.mark.usefixtures("little")
def test_zip_zlib_and_gz_are_refused_by_ratio_and_size():
    zeros = bytes(2**21)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a", zeros)
    packed = zlib.compress(zeros)
    for unpacking in (
        lambda: check_zip(archive, "the file"),
        lambda: gunzip(gzip.compress(zeros), "the file"),
        lambda: inflate(packed, "the file"),
        lambda: inflate(zlib.compress(b"abcd"), "the file", most=3),
    ):
        with pytest.raises(TooMuch, match=r"^the file unpacks"):
            unpacking()


# ---- stores


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of one cell with an array."""

    def trial(n: int, *, seed: int):
        return {"value": float(n + seed), "a": np.arange(3.0)}

    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    experiment = Experiment("grows", "Does it?", trial, {"quick": {"n": [1]}}, seeds=1)
    run(experiment, store=path)
    return experiment, path


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("arrays SET data", b"\x00\xff"),
        ("arrays SET data", "x"),
        ("arrays SET dtype", "|O"),
        ("arrays SET dtype", "1.5"),
        ("arrays SET shape", "[1000000000000]"),
        ("arrays SET shape", "null"),
        ("arrays SET name", b"\x00"),
        ("results SET cell", "{"),
        ("results SET cell", '{"n": {}}'),
        ("results SET metrics", "[" * 50_000),
        ("results SET metrics", '{"value": null}'),
        ("results SET seed", "x"),
        ("runs SET selection", "[]"),
        ("runs SET version", "x"),
        ("provenance SET facts", "1"),
    ],
)
def test_a_damaged_value_of_a_store_is_a_sentence(store, tmp_path, where, value):
    experiment, good = store
    path = tmp_path / "bad.sqlite"
    with closing(sqlite3.connect(good)) as db, closing(sqlite3.connect(path)) as copy:
        db.backup(copy)
        copy.execute(f"UPDATE {where} = ?", (value,))
        if where.startswith("runs SET version"):
            copy.execute("DELETE FROM results")
        copy.commit()
    with Store.open(path, readonly=True) as opened, pytest.raises(StoreError, match="is damaged"):
        read_all(opened, experiment)


def read_all(opened: Store, experiment: Experiment) -> None:
    """All that a store is asked for."""
    opened.status()
    opened.last_selection(experiment)
    keys = [row[0] for row in opened._rows("SELECT key FROM results")]
    opened.table(experiment, keys, arrays=True)
    opened.provenance(keys[0])


def test_the_sentence_of_a_damaged_array_names_the_cell(store, tmp_path):
    experiment, good = store
    path = tmp_path / "bad.sqlite"
    with closing(sqlite3.connect(good)) as db, closing(sqlite3.connect(path)) as copy:
        db.backup(copy)
        copy.execute("UPDATE arrays SET data = x'00'")
        copy.commit()
    with (
        Store.open(path, readonly=True) as opened,
        pytest.raises(StoreError, match=r'the result of \{"n": 1\}, seed 0, is damaged'),
    ):
        opened.table(experiment, arrays=True)


# ---- checkpoints


@pytest.mark.parametrize("hurt", ["gone", "nan", "dtype", "shape", "empty", "flip"])
@pytest.mark.parametrize("name", ["mean_y", "xx", "weight"])
def test_a_state_of_another_layout_is_a_damaged_checkpoint(tmp_path, name, hurt):
    rows = from_arrays(np.eye(3, 2), np.arange(3.0)).source
    engine = InProcess(checkpoint=Checkpoint(tmp_path))
    engine.state(Moments(), rows)
    (file,) = tmp_path.glob("pass-*/total.safetensors")
    arrays = from_bytes(file.read_bytes())
    a = arrays.pop(name)
    if a.ndim == 0 and hurt in ("shape", "empty", "flip"):
        hurt = "gone"
    changes = {"nan": lambda: a * np.nan, "dtype": lambda: a.astype("f4"), "shape": lambda: a[None]}
    changes |= {"empty": lambda: a[:0], "flip": lambda: np.concatenate([a, a])}
    if hurt != "gone":
        arrays[name] = changes[hurt]()
    rewrite(file, arrays)
    with pytest.raises(EngineError, match="is damaged or cannot be read: remove its folder"):
        engine.state(Moments(), rows)


@pytest.mark.parametrize("name", ["0.mean_y", "0.mean_x", "0.yy", "1.xy"])
def test_parts_of_a_state_that_do_not_fit_each_other_are_a_damaged_checkpoint(tmp_path, name):
    rows = from_arrays(np.eye(3, 2), np.arange(3.0)).source
    engine = InProcess(checkpoint=Checkpoint(tmp_path))
    engine.state(Joint((Moments(), Moments())), rows)
    (file,) = tmp_path.glob("pass-*/total.safetensors")
    arrays = from_bytes(file.read_bytes())
    rewrite(file, arrays | {name: np.concatenate([arrays[name]] * 2)})
    with pytest.raises(EngineError, match="is damaged or cannot be read: remove its folder"):
        engine.state(Joint((Moments(), Moments())), rows)


def test_an_array_holds_as_much_as_it_says():
    with pytest.raises(TooMuch):
        unpack(PackedArray("a", "<f8", (1,), zlib.compress(bytes(10**6))))
