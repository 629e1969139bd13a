"""run --dask: the numbers of one process, files of one's own, Ctrl-C, requests without sense."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from cli.lab_files import GROWS, HELD, calls, grows, refused, stored, well
from gradfeat.rows import dask_client

pytest.importorskip("distributed")

SLOW = GROWS.replace("    if n == 9", HELD)


def test_a_cluster_gives_the_numbers_of_one_process(capsys, folder):
    name = grows(folder)
    with dask_client.local_cluster(2) as client:
        address = client.scheduler.address
        out = well(capsys, "run", name, "--dask", address, "--store", "far.db", "--no-figure")
        assert "grows: 6 of 6 cells" in out
        again = well(capsys, "run", name, "--dask", address, "--store", "far.db", "--no-figure")
        assert "6 were there before" in again
        assert client.status == "running"
    assert len(calls(folder)) == 6
    well(capsys, "run", name, "--no-figure")
    pd.testing.assert_frame_equal(stored(folder, "far.db"), stored(folder), check_like=True)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_says_so(folder):
    words = ["run", grows(folder, SLOW), "--seeds", "40", "--no-figure", "--dask", "local"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gradfeat", *words, "--jobs", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 600
    while len(calls(folder)) < 6:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert len(err.splitlines()) == 1, err
    done = len(stored(folder))
    assert 0 < done < 120
    assert f"stopped: {done} of 120 cells are saved in gradfeat.sqlite" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dask", "tcp://127.0.0.1:9"], "no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        (["--dask", "tcp://127.0.0.1:9", "--jobs", "2"], "leave --jobs out"),
        (["--dask", "nonsense"], "no Dask scheduler answers at 'nonsense'"),
    ],
)
def test_a_request_that_makes_no_sense_computes_nothing(capsys, folder, monkeypatch, words, said):
    monkeypatch.setattr(dask_client, "ANSWER", 0.3)
    assert said in refused(capsys, "run", grows(folder), *words)
    assert [path.name for path in folder.iterdir()] == ["grows.py"]
