"""The store: what it tells, what it refuses, how it shares a file."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sqlite3
import subprocess
import time
import warnings

import pandas as pd
import pytest
from interrupted import each_interrupt
from sweep_trials import make, odd_fails

from gradfeat.lab import Store, StoreError, run
from gradfeat.lab.database import APPLICATION_ID, open_for_writing
from gradfeat.lab.experiment import Point
from gradfeat.lab.outcomes import Outcome
from gradfeat.lab.presence import _OPEN, FilePresence


@contextlib.contextmanager
def read_only(folder):
    """The folder cannot be written to inside: by permissions, for root by a mount."""
    if os.geteuid():
        os.chmod(folder, 0o500)
        for path in folder.iterdir():
            path.chmod(0o400)
        try:
            yield
        finally:
            os.chmod(folder, 0o700)
        return
    commands = [["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder]]
    if any(subprocess.run(command, capture_output=True).returncode for command in commands):
        pytest.skip("root, and not allowed to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def sentence(path, **options):
    with pytest.raises(StoreError) as caught:
        Store.open(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.count(". ") == 0
    return text


def test_a_folder_is_refused(tmp_path):
    assert "is a folder: give the path of a file." in sentence(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    assert "is in no folder that exists" in sentence(tmp_path / "no" / "s.db")


def test_a_missing_file_is_refused_for_reading(tmp_path):
    assert "does not exist" in sentence(tmp_path / "s.db", readonly=True)
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_is_not_a_database_is_refused_and_left_alone(tmp_path, readonly):
    path = tmp_path / "notes.txt"
    path.write_text("my notes, which are long enough to be no header at all" * 20)
    before = path.read_bytes()
    assert "is not an SQLite file" in sentence(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [False, True])
def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path, readonly):
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE results (key)")
    before = path.read_bytes()
    assert "is a database of another program" in sentence(path, readonly=readonly)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["other.db"]


@pytest.mark.parametrize("readonly", [False, True])
def test_a_newer_store_is_refused(tmp_path, readonly):
    path = tmp_path / "s.db"
    Store.open(path).close()
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 7")
    assert "has format 7 of a newer gradfeat" in sentence(path, readonly=readonly)


def test_a_damaged_store_is_refused(tmp_path):
    path = tmp_path / "s.db"
    run(make(), store=path, seeds=200)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(StoreError, match="is damaged"):
        run(make(), store=path)


def test_a_read_only_store_can_be_read_and_says_so_when_written(tmp_path):
    path = tmp_path / "s.db"
    table = run(make(), store=path)
    with read_only(tmp_path):
        with Store.open(path, readonly=True) as store:
            pd.testing.assert_frame_equal(store.table(make()), table, check_like=True)
            assert [count.done for count in store.status()] == [6]
        with pytest.raises(StoreError, match=r"cannot be (opened|written to): allow"):
            run(make(), store=path, n=99)


def test_a_new_store_in_a_read_only_folder_is_refused(tmp_path):
    with (
        read_only(tmp_path),
        pytest.raises(StoreError, match=r"cannot be (opened|written to): allow"),
    ):
        run(make(), store=tmp_path / "new.db")


def test_on_a_full_disk_what_is_finished_stays(tmp_path):
    path = tmp_path / "s.db"
    connection = open_for_writing(path)
    connection.execute("PRAGMA max_page_count = 40")
    full = Store(connection, str(path), FilePresence(path))
    with full, pytest.raises(StoreError, match="is on a full disk: free space and run again"):
        run(make(), store=full, n=3, seeds=2000)
    seen = []
    table = run(make(), store=path, n=3, seeds=2000, progress=seen.append)
    assert seen[0].done > 100
    assert len(table) == 2000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_really_full(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("not allowed to mount")
    try:
        with pytest.raises(StoreError, match=r"full disk|disk error"):
            run(make(), store=tmp_path / "s.db", n=3, seeds=4000)
        with Store.open(tmp_path / "s.db", readonly=True) as store:
            assert len(store.table(make())) > 10
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_lock_held_for_long_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("gradfeat.lab.database.PATIENCE", 0.1)
    path = tmp_path / "s.db"
    Store.open(path).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another program for long"):
            run(make(), store=path)


def test_the_file_says_what_it_is(tmp_path):
    Store.open(tmp_path / "s.db").close()
    header = (tmp_path / "s.db").read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID


def test_status_failures_and_selection(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        assert store.status() == []
        assert store.last_selection("test") is None
        run(make(odd_fails), store=store, n=[1, 2], seeds=[4])
        (count,) = store.status()
        assert (count.experiment, count.done, count.failed) == ("test", 1, 1)
        assert count.running == 0
        assert store.failures("test")["n"].tolist() == [1]
        assert store.last_selection("test") == {
            "scale": "quick",
            "seeds": [4],
            "device": "cpu",
            "overrides": {"n": [1, 2]},
        }
        again = store.last_selection("test") or {}
        assert len(run(make(odd_fails), store=store, **again.pop("overrides"), **again)) == 1


def test_a_request_with_nothing_left_to_compute_is_the_last_one(tmp_path):
    path = tmp_path / "lab.sqlite"
    experiment = make()
    run(experiment, store=path, seeds=2)
    run(experiment, store=path, seeds=1)
    with Store.open(path) as store:
        assert (store.last_selection("test") or {})["seeds"] == 1
    runs = "SELECT count(*), count(finished) FROM runs"
    run(experiment, store=path, seeds=1)
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute(runs).fetchone() == (2, 2)


def test_a_result_knows_what_made_it(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        run(make(), store=store)
        facts = store.provenance(make().points("quick")[0].key) or {}
    assert facts["device"] == "cpu"
    assert facts["torch"]
    assert facts["python"].startswith("3.")
    assert facts["seconds"] >= 0


def test_the_whole_table_is_ordered_and_readable_by_name(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        run(make(), store=store, n=[5, 3], seeds=[1, 0])
        table = store.table("test")
        pd.testing.assert_frame_equal(table, store.table(make()))
        assert table[["n", "seed"]].to_numpy().tolist() == [[3, 0], [3, 1], [5, 0], [5, 1]]
        key = make().points("quick", None, {"n": 5})[0].key
        assert store.arrays(key)["draws"].shape == (2, 5)


def test_a_lease_is_honoured_while_its_run_lives_and_taken_over_after(tmp_path):
    e = make()
    keys = [point.key for point in e.points("quick")]
    with Store.open(tmp_path / "s.db") as ours, Store.open(tmp_path / "s.db") as theirs:
        first, second = ours.begin(e, {}), theirs.begin(e, {})
        assert ours.claim(keys[:2], first).mine == keys[:2]
        assert theirs.claim(keys, second).others == keys[:2]
        assert [count.running for count in theirs.status()] == [6]
        ours._presence.leave(first)  # what the system does when a process dies
        assert theirs.claim(keys, second).mine == keys


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking where threads run, 3.12
def test_a_forked_child_does_not_keep_its_dead_parent_alive(tmp_path):
    presence = FilePresence(tmp_path / "s.db")
    presence.enter(1)
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    try:
        os.close(presence._held.pop(1))  # what the system does when the parent dies
        deadline = time.monotonic() + 300  # for the child to get going
        while presence.alive(1):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        _OPEN.clear()


def test_no_file_stays_beside_the_store(tmp_path):
    run(make(), store=tmp_path / "s.db")
    (tmp_path / "s.db.run-99").touch()  # of a run that was killed
    run(make(), store=tmp_path / "s.db", n=50)
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]


def test_after_ctrl_c_at_any_place_of_a_save_the_store_takes_what_else_is_finished():
    e, outcome = make(), Outcome("{}", (), None, 0.0)
    one, other = ([(Point({"n": n}, 0, str(n)), outcome)] for n in (1, 2))
    with Store.open(None) as store:
        number = store.begin(e, {})
        for _ in each_interrupt(lambda: store.save(e, number, one)):
            store.save(e, number, other)
        assert len(store.statuses(["1", "2"])) == 2


def test_ctrl_c_while_a_store_is_created_is_no_error_of_the_store(tmp_path):
    path = tmp_path / "s.db"
    with warnings.catch_warnings():
        # Connections that an interrupt left before they had a name: collected here, and not in a
        # later test, where Python 3.13 warns of them.
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in each_interrupt(lambda: open_for_writing(path).close()):
            path.unlink(missing_ok=True)
        gc.collect()
