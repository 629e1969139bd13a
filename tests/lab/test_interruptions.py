"""Two sweeps at once, Ctrl-C, kill -9: in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from sweep_trials import SLOW

from gradfeat.lab import Store, run

HERE = Path(__file__).parent
KILLS = HERE.parents[1] / "benchmarks" / "kill_resume.py"
SCRIPT = """
import sys
from sweep_trials import SLOW
from gradfeat.lab import run
if __name__ == "__main__":
    print(len(run(SLOW, store=sys.argv[1], jobs=int(sys.argv[2]))))
"""


def start(folder, log, jobs=1, held_after=""):
    script = folder / "sweep_script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(HERE), "GRADFEAT_TEST_LOG": str(log)}
    environment["GRADFEAT_TEST_HELD_AFTER"] = held_after
    return subprocess.Popen(
        [sys.executable, str(script), str(folder / "s.db"), str(jobs)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(log, count):
    deadline = time.monotonic() + 600
    while not log.exists() or len(log.read_text().splitlines()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_two_sweeps_at_once_do_the_work_once(tmp_path):
    log = tmp_path / "log"
    processes = [start(tmp_path, log) for _ in range(2)]
    for process in processes:
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out, err) == (0, "60\n", "")
    lines = log.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 60
    with Store.open(tmp_path / "s.db") as store:
        pd.testing.assert_frame_equal(store.table(SLOW), run(SLOW), check_like=True)
        assert store._rows("SELECT count(*) FROM leases") == [(0,)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_loses_nothing_and_leaves_nothing_behind(tmp_path, jobs):
    log = tmp_path / "log"
    process = start(tmp_path, log, jobs, held_after="10")
    wait_for(log, 10)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGINT
    assert err.strip().endswith("KeyboardInterrupt")
    assert err.count("Traceback") == 1
    begun = len(log.read_text().splitlines())
    with Store.open(tmp_path / "s.db") as store:
        assert begun - 2 * jobs <= len(store.table(SLOW)) < 60
        assert store._rows("SELECT count(*) FROM leases") == [(0,)]
    assert not list(tmp_path.glob("s.db.run-*"))
    time.sleep(0.6)  # a worker that lived on would begin its next cell
    assert len(log.read_text().splitlines()) == begun
    assert len(run(SLOW, store=tmp_path / "s.db")) == 60


def kill_and_resume(*options):
    done = subprocess.run([sys.executable, str(KILLS), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "computed again after being saved  0" in done.stdout


def test_three_kills_lose_nothing():
    kill_and_resume("--kills", "3", "--cells", "300")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_thirty_kills_lose_nothing(jobs):
    kill_and_resume("--kills", "30", "--jobs", jobs)
