"""Workers of a Dask cluster for the lab: of one that runs somewhere, or of one started here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from gradfeat.cli.guard import Refused

if TYPE_CHECKING:
    from gradfeat.lab.dask_executor import DaskExecutor

#: What `--dask` calls a cluster of this machine.
LOCAL = "local"


@contextlib.contextmanager
def hired(dask: str | None, jobs: int) -> Iterator[DaskExecutor | None]:
    """The executor of `--dask`; None where it is not asked for.

    Parameters
    ----------
    dask : str or None
        Address of a scheduler, or "local".
    jobs : int
        Workers of a cluster that is started here.

    Raises
    ------
    Refused
        Of jobs for a cluster that has workers of its own.
    EngineError
        When no cluster answers, or Dask is not installed.
    """
    if dask is None:
        yield None
        return
    if dask != LOCAL and jobs > 1:
        raise Refused(
            f"--jobs is {jobs} and the cluster at {dask!r} has workers of its own: leave --jobs "
            "out, or give --dask local."
        )
    from gradfeat.lab.dask_executor import DaskExecutor
    from gradfeat.rows.dask_client import client_of, quiet

    opened = _started(jobs) if dask == LOCAL else client_of(dask)
    with quiet(), opened as client:
        yield DaskExecutor(client)


@contextlib.contextmanager
def _started(jobs: int) -> Iterator[Any]:
    """A cluster of this machine, whose workers get no Ctrl-C; one that dies takes its cells along.

    Dask would give a cell to several workers before it blames the cell; the sweep knows better.
    """
    from gradfeat.rows.dask_client import distributed, local_cluster
    from gradfeat.rows.workers import interrupts_held

    distributed()
    from dask.config import set as setting

    resource_tracker.ensure_running()  # it lets interrupts through when it is started
    with contextlib.ExitStack() as stack:
        with interrupts_held(), setting({"distributed.scheduler.allowed-failures": 0}):
            client = stack.enter_context(local_cluster(jobs))
        yield client
