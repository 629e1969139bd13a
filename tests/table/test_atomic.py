"""A file is written whole or stays as it was."""

import errno
import os

import pytest

from gradfeat.errors import TableError
from gradfeat.table.atomic import write_atomic


def test_text_and_bytes_replace_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    write_atomic(path, "é")
    assert path.read_bytes() == "é".encode()
    write_atomic(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch, step):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(TableError, match=r"No space left on device.*free the disk"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_missing_folder(tmp_path):
    with pytest.raises(TableError, match="No such file"):
        write_atomic(tmp_path / "none" / "report.html", "new")
