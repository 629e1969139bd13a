"""Saving and loading: a whole model or one sentence, and no code in the file."""

from __future__ import annotations

import errno
import json
import os
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from small_fits import binary, classifiers, named, regression, regressors, transformer

from gradfeat import load, save
from gradfeat.errors import ModelFileError
from gradfeat.estimators import (
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    KernelClassifier,
    KernelRegressor,
)
from gradfeat.estimators.container import FORMAT_VERSION, Contents, write
from gradfeat.maths.activations import Polynomial, UserActivation

SENTENCE = r"^[^\n]+\.$"


def _outputs(model: Any, X: Any) -> list[np.ndarray]:
    if type(model) is type(transformer()):
        return [model.transform(X)]
    return [model.predict(X), *([model.predict_proba(X)] if is_classifier(model) else [])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gradfeat"


@pytest.fixture
def saved(path: Path) -> Path:
    X, y = binary(20, 2)
    save(KernelClassifier(search=None).fit(X, y), path)
    return path


@pytest.mark.parametrize(**named([*regressors(), *classifiers(), transformer()]))
def test_round_trip_is_exact(model: Any, path: Path) -> None:
    X, y = binary(60)
    fitted = clone(model).fit(X, y)
    save(fitted, path)
    again = load(path)
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.n_features_in_ == 4
    assert "feature_names_in_" not in vars(again)
    for a, b in zip(_outputs(again, X), _outputs(fitted, X), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize(**named([*regressors(), *classifiers()]))
def test_round_trip_keeps_what_the_fit_read_from_the_inputs(model: Any, path: Path) -> None:
    X, y = binary(60)
    fitted = clone(model).fit(pd.DataFrame(X, columns=list("abcd")), y)
    save(fitted, path)
    again = load(path)
    assert again.feature_names_in_.tolist() == list("abcd")
    assert again.settings_ == fitted.settings_
    assert again.n_effective_directions_ == fitted.n_effective_directions_
    assert np.array_equal(again.agop_, fitted.agop_)
    # The rest is recomputed from the AGOP, by the same routine.
    for name in ("importances_", "directions_", "eigenvalues_"):
        np.testing.assert_allclose(getattr(again, name), getattr(fitted, name), atol=1e-12)


def test_round_trip_of_the_transformer_keeps_names(path: Path) -> None:
    X, y = regression(60)
    fitted = transformer().fit(pd.DataFrame(X, columns=list("abcd")), y)
    save(fitted, path)
    again = load(path)
    assert again.feature_names_in_.tolist() == list("abcd")
    assert again.get_feature_names_out().tolist() == ["agoptransformer0", "agoptransformer1"]
    assert np.array_equal(again.explained_ratio_, fitted.explained_ratio_)


LABELS = {
    "ints": np.array([10, 1000]),
    "int8": np.array([-1, 1], dtype=np.int8),
    "unsigned": np.array([1, 2], dtype=np.uint64),
    "floats": np.array([1.0, 2.0]),
    "bools": np.array([False, True]),
    "strings": np.array(["no", "yes, £ \U0001f600"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "dates": np.array(["2020-02-01", "2021-03-01"], dtype="M8[D]"),
    "durations": np.array([1, 5], dtype="m8[s]"),
    "one class": np.array(["only", "only"]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_round_trip_of_labels_of_every_kind(labels: Any, path: Path) -> None:
    X, y = binary(40)
    fitted = KernelClassifier(search=None).fit(X, labels[y])
    save(fitted, path)
    again = load(path)
    assert again.classes_.dtype == fitted.classes_.dtype
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert [*map(type, again.classes_)] == [*map(type, fitted.classes_)]
    assert again.predict(X).tolist() == fitted.predict(X).tolist()


@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 2)], ids=str)
def test_round_trip_keeps_the_shape_of_predictions(shape: Any, path: Path) -> None:
    X, f = regression(60)
    fitted = KernelRegressor(search=None).fit(X, np.resize(f, shape))
    save(fitted, path)
    assert np.array_equal(load(path).predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    "params",
    [
        {"activation": Polynomial((0.0, 1.0, 0.5))},
        {"dtype": "float32"},
        {"alpha": np.float64(0.5)},
        {"step_size": 2.0},
    ],
    ids=repr,
)
def test_round_trip_of_parameters_that_are_not_plain(params: Any, path: Path) -> None:
    X, f = regression(60)
    fitted = GradientFeatureRegressor(width=64).set_params(**params).fit(X, f)
    save(fitted, path)
    again = load(path)
    name, value = next(iter(params.items()))
    assert again.get_params()[name] == value
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert np.array_equal(clone(again).fit(X, f).predict(X), fitted.predict(X))


def test_a_device_of_torch_is_saved_by_its_name(path: Path) -> None:
    X, f = regression(60)
    save(KernelRegressor(search=None, device=torch.device("cpu")).fit(X, f), path)  # pyright: ignore[reportArgumentType]
    assert load(path).device == "cpu"


def test_a_bandwidth_given_as_a_tensor_is_saved_as_a_number(path: Path) -> None:
    X, f = regression(40)
    fitted = KernelRegressor(search=None, bandwidth=torch.tensor(2.0)).fit(X, f)
    save(fitted, path)
    assert load(path).bandwidth == 2.0
    assert np.array_equal(load(path).predict(X), fitted.predict(X))


def test_a_generator_is_saved_as_none(path: Path) -> None:
    X, f = regression(40)
    save(KernelRegressor(search=None, random_state=np.random.default_rng(0)).fit(X, f), path)
    assert load(path).random_state is None


def test_case_20_a_model_of_another_device_loads_on_the_cpu(path: Path) -> None:
    """Row 20: a model saved on a GPU, loaded where there is none: on the CPU."""
    X, f = regression(40)
    fitted = KernelRegressor(search=None).fit(X, f)
    expected = fitted.predict(X)
    save(fitted.set_params(device="cuda"), path)
    assert np.array_equal(load(path).predict(X), expected)
    assert np.array_equal(load(path, device="cpu").predict(X), expected)
    with pytest.raises(ValueError, match=r"^device is 'abacus'"):
        load(path, device="abacus")


def test_unfitted_and_code_are_refused(path: Path) -> None:
    with pytest.raises(NotFittedError):
        save(KernelRegressor(), path)
    X, f = regression(40)
    fitted = GradientFeatureRegressor(width=16, activation=UserActivation(torch.sin)).fit(X, f)
    with pytest.raises(ModelFileError, match=SENTENCE):
        save(fitted, path)
    assert not list(path.parent.iterdir())


def test_the_file_holds_no_pickle(saved: Path) -> None:
    data = saved.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    json.loads(header["__metadata__"]["state"])
    assert {part["dtype"] for name, part in header.items() if name != "__metadata__"} == {"F64"}
    with pytest.raises(ValueError, match=r"opcode|ended|at position|not enough"):
        list(pickletools.genops(data))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_case_20_a_file_cut_short_is_one_sentence(saved: Path, share: float) -> None:
    """Row 20: a file cut at half (and elsewhere): one clear sentence that names the file."""
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ModelFileError, match=SENTENCE) as caught:
        load(saved)
    assert str(saved) in str(caught.value)


def test_a_flipped_byte_is_found_anywhere(saved: Path) -> None:
    """Every byte of the head and of a sample of the data, under several changes."""
    data = saved.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    rng = np.random.default_rng(0)
    offsets = [*range(8), *rng.integers(8, end, 150), *rng.integers(end, len(data), 30)]
    body = data[8:end].rstrip()
    for offset in offsets:
        for mask in (1, 4, 32, 128, 255):
            spoilt = bytearray(data)
            spoilt[offset] ^= mask
            saved.write_bytes(spoilt)
            if 8 + len(body) <= offset < end and chr(spoilt[offset]) in " \t\r\n":
                continue  # padding of the head stays padding
            with pytest.raises(ModelFileError, match=SENTENCE):
                load(saved)


def _rewrite(path: Path, **changes: str) -> None:
    with safe_open(path, framework="numpy") as handle:
        metadata = {**handle.metadata(), **changes}
        arrays = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
    path.write_bytes(to_bytes(arrays, metadata=metadata))


def test_case_20_a_newer_format_is_one_sentence(saved: Path) -> None:
    """Row 20: a file from a newer format: which format it has, and what to do."""
    _rewrite(saved, format_version=str(FORMAT_VERSION + 1))
    with pytest.raises(ModelFileError, match=SENTENCE) as caught:
        load(saved)
    assert f"format {FORMAT_VERSION + 1}" in str(caught.value)
    assert "newer" in str(caught.value)


@pytest.mark.parametrize("change", [{"state": "{}"}, {"kind": "KernelRegressor"}, {"sha256": ""}])
def test_a_changed_description_is_refused(saved: Path, change: Any) -> None:
    _rewrite(saved, **change)
    with pytest.raises(ModelFileError, match=r"changed after it was saved"):
        load(saved)


@pytest.mark.parametrize(
    ("kind", "state"), [("DeepForest", {}), ("KernelRegressor", {}), ("AGOPTransformer", {"r": 1})]
)
def test_an_unknown_kind_or_part_is_one_sentence(path: Path, kind: str, state: Any) -> None:
    write(path, Contents(kind, state, {"agop": np.ones((1, 1))}))
    with pytest.raises(ModelFileError, match=SENTENCE) as caught:
        load(path)
    assert kind in str(caught.value)


def test_an_unknown_parameter_is_one_sentence(path: Path) -> None:
    X, f = regression(20)
    state, arrays = KernelRegressor(search=None).fit(X, f).to_state()
    state["params"]["depth"] = 3
    write(path, Contents("KernelRegressor", state, arrays))
    with pytest.raises(ModelFileError, match=r"cannot rebuild.*depth"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04" * 40, b"\x80\x04K\x01."])
def test_not_a_model_file_is_one_sentence(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=SENTENCE):
        load(path)


def test_another_program_s_safetensors_is_one_sentence(path: Path) -> None:
    path.write_bytes(to_bytes({"x": np.ones(3)}))
    with pytest.raises(ModelFileError, match=r"is not a gradfeat model"):
        load(path)


def test_missing_file_and_folder_are_one_sentence(path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"does not exist: give the path"):
        load(path)
    with pytest.raises(ModelFileError, match=SENTENCE):
        load(path.parent)


def _full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    before = saved.read_bytes()
    X, y = binary(20, 2)
    other = GradientFeatureClassifier(width=16).fit(X, y)
    monkeypatch.setattr(os, broken, _full_disk)
    with pytest.raises(ModelFileError, match=r"No space left on device.*unchanged"):
        save(other, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_an_interrupted_save_leaves_no_temporary_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    fitted = load(saved)
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(fitted, saved)
    assert os.listdir(saved.parent) == [saved.name]


def test_a_place_that_cannot_be_written_is_one_sentence(saved: Path) -> None:
    fitted = load(saved)
    for place in (saved / "below a file", saved.parent / "missing" / "m", saved.parent):
        with pytest.raises(ModelFileError, match=SENTENCE):
            save(fitted, place)
    assert os.listdir(saved.parent) == [saved.name]


def test_a_saved_file_has_the_permissions_of_any_new_file(saved: Path) -> None:
    plain = saved.parent / "plain"
    plain.write_bytes(b"")
    assert saved.stat().st_mode == plain.stat().st_mode


def test_a_link_is_followed(saved: Path) -> None:
    link = saved.parent / "latest"
    link.symlink_to(saved)
    X, y = binary(20, 2)
    save(GradientFeatureClassifier(width=16).fit(X, y), link)
    assert link.is_symlink()
    assert type(load(saved)) is GradientFeatureClassifier
