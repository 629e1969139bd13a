"""Rates of this machine: matrix products, spectra, reading, and a link to itself."""

from __future__ import annotations

import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from ..estimators.training import distinct_rows, sample_rows
from ..models.gradient_step import TEST_NUMBERS, TEST_ROWS, first_gradient_test
from ..rows import from_parquet
from .job import Job

#: Numbers of the rows that are written and read again at most.
READ_NUMBERS = 2**24

#: Rows and draws of the sample that are tried.
FEW_ROWS, FEW_DRAWS = 1000, 4
DRAWS = 99


def timed(call: Callable[[], object], times: int = 3) -> float:
    """Median processor seconds of this thread in several calls: waiting for others is left out."""
    found = []
    for _ in range(times):
        start = time.thread_time()
        call()
        found.append(time.thread_time() - start)
    return statistics.median(found)


def product_rate(side: int = 1024) -> float:
    """Operations a second of products of float64 matrices, in the threads that are set."""
    A = torch.ones(side, side, dtype=torch.float64)
    out = torch.empty_like(A)
    torch.mm(A, A, out=out)
    return 2 * side**3 / timed(lambda: torch.mm(A, A, out=out))


def spectrum_time(side: int) -> float:
    """Seconds of the spectrum of a symmetric matrix, over side^3."""
    A = torch.randn(side, side, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    A = A @ A.T
    torch.linalg.eigh(A[:8, :8])
    return timed(lambda: torch.linalg.eigh(A), 1 if side > 512 else 3) / side**3


def read_times(job: Job) -> tuple[float, float]:
    """Seconds and processor seconds a row: a Parquet file of the columns, from the page cache.

    Several threads read: the seconds are the fewest of three times.
    """
    names = [f"x{j}" for j in range(job.columns)]
    targets = [f"y{j}" for j in range(job.outputs)]
    n = max(1, min(job.block_rows, READ_NUMBERS // (job.columns + job.outputs)))
    kind = np.float32 if job.float_bytes <= 4 else np.float64
    values = np.random.default_rng(0).standard_normal((len(names) + len(targets), n)).astype(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        table = pa.table(list(values), names=[*names, *targets])
        pq.write_table(table, path, compression="none", use_dictionary=False)
        rows = from_parquet(str(path), targets, piece_rows=n)

        def read() -> None:
            for piece in rows.source.pieces():
                for _ in piece.read():
                    pass

        read()
        before, spent = time.process_time(), []
        for _ in range(3):
            start = time.perf_counter()
            read()
            spent.append(time.perf_counter() - start)
        return min(spent) / n, (time.process_time() - before) / 3 / n


def link_rate() -> float:
    """Bytes a second through a TCP connection of this machine with itself."""
    data, buffer = bytes(2**26), bytearray(2**20)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def send() -> None:
            with socket.create_connection(address) as sender:
                sender.sendall(data)

        thread = threading.Thread(target=send, daemon=True)
        start = time.perf_counter()
        thread.start()
        receiver, _ = server.accept()
        with receiver:
            while receiver.recv_into(buffer):
                pass
        thread.join()
    return len(data) / (time.perf_counter() - start)


def sample_time(job: Job) -> float:
    """Seconds to sort the sample of the first pass, and to test the first gradient on it."""
    n, size = min(FEW_ROWS, job.rows), min(job.rows, sample_rows(job.columns))
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, job.columns)), rng.standard_normal((n, job.outputs))
    w = np.ones(n)
    seconds = timed(lambda: distinct_rows(X, y, w, 0)) * size / n
    if job.method != "gradient-features":
        return seconds
    tested = min(size, max(500, min(TEST_ROWS, TEST_NUMBERS // job.columns)))
    return seconds + _draw_time(torch.from_numpy(X), torch.from_numpy(y)) * 2 * DRAWS * tested / n


def _draw_time(X: torch.Tensor, y: torch.Tensor) -> float:
    """Seconds of one of the draws of the test: of more of them, less of fewer."""
    few, more = (
        timed(lambda permutations=k: first_gradient_test(X, y, permutations=permutations))
        for k in (1, 1 + FEW_DRAWS)
    )
    return max(0.0, more - few) / (2 * FEW_DRAWS)


def resident() -> int:
    return psutil.Process().memory_info().rss
