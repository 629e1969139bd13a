"""What is written is placed whole or not at all, and nothing but a file is ever replaced."""

from __future__ import annotations

import errno
import os
import stat
import struct

import pytest

from gradfeat.errors import StoreError, TableError
from gradfeat.maths.files import refused, replace_file, replace_files, replacing

ROOT = os.geteuid() == 0


def fifo(path):
    os.mkfifo(path)


def device(path):
    if not ROOT:
        pytest.skip("only root makes devices")
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no devices can be made here")


@pytest.mark.parametrize("make", [fifo, device, os.mkdir])
@pytest.mark.parametrize("through_a_link", [False, True])
def test_only_files_are_replaced(tmp_path, make, through_a_link):
    target = tmp_path / "t"
    make(target)
    before = target.stat()
    path = tmp_path / "link" if through_a_link else target
    if through_a_link:
        path.symlink_to(target)
    with pytest.raises(OSError, match="only a regular file is replaced"):
        replace_file(path, b"new")
    after = target.stat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert sorted(os.listdir(tmp_path)) == sorted({"t", path.name})


def test_mode_and_owner_stay(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    if ROOT:
        os.chown(path, 12345, 12346)
    owner = (path.stat().st_uid, path.stat().st_gid)
    replace_file(path, b"new")
    replace_files(tmp_path, {"a": b"newer"})
    assert path.read_bytes() == b"newer"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (path.stat().st_uid, path.stat().st_gid) == owner


#: An access list: the owner and user 12345 read and write, others nothing (mask rw-).
LIST = struct.pack(
    "<I" + 5 * "HHI",
    *(2, 0x01, 6, 0xFFFFFFFF, 0x02, 6, 12345, 0x04, 0, 0xFFFFFFFF),
    *(0x10, 6, 0xFFFFFFFF, 0x20, 0, 0xFFFFFFFF),
)


@pytest.mark.parametrize(
    ("name", "value"), [("user.label", b"secret"), ("system.posix_acl_access", LIST)]
)
def test_labels_and_access_lists_stay(tmp_path, name, value):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, name, value)
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    mode = path.stat().st_mode
    replace_file(path, b"new")
    replace_files(tmp_path, {"a": b"newer"})
    assert (os.getxattr(path, name), path.stat().st_mode) == (value, mode)


def test_where_there_are_no_extended_attributes_files_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delattr(os, "listxattr", raising=False)
    (tmp_path / "a").write_bytes(b"old")
    replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_set_is_placed_whole_or_not_at_all(tmp_path):
    (tmp_path / "results.json").write_bytes(b"old")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match="it is a folder"):
        replace_files(tmp_path, {"results.json": b"new", "report.html": b"page", "z": b"z"})
    assert (tmp_path / "results.json").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["report.html", "results.json"]


@pytest.mark.parametrize("fails", ["b", "c"])
def test_what_was_placed_is_put_back(tmp_path, monkeypatch, fails):
    for name in "ac":
        (tmp_path / name).write_bytes(b"old")
    replace = os.replace

    def refuse(source, target):
        if os.fspath(target).endswith(f"/{fails}") and not os.fspath(source).endswith(".before"):
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        replace_files(tmp_path, dict.fromkeys("abc", b"new"))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"old", "c": b"old"}


def test_names_as_long_as_the_system_takes(tmp_path):
    replace_file(tmp_path / ("a" * 255), b"new")
    with pytest.raises(OSError, match="too long"):
        replace_file(tmp_path / ("a" * 256), b"new")
    with pytest.raises(OSError, match="the name is empty"):
        replace_file("", b"new")


def test_a_block_that_fails_leaves_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def fail():
        with replacing(tmp_path / "a") as handle:
            handle.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"old")]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch, step):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    words = r"No space left on device.*free the disk"
    with pytest.raises(StoreError, match=words), refused(path, StoreError):
        replace_file(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_missing_folder(tmp_path):
    path = tmp_path / "none" / "report.html"
    words = r"No such file.*unchanged; make the folder '.*none', or give another place\.$"
    with pytest.raises(TableError, match=words), refused(path):
        replace_file(path, b"new")
