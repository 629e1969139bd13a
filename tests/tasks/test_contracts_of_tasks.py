"""Every task in the list through the same contracts."""

from __future__ import annotations

import pytest
from contracts_of_tasks import TASK_CHECKS, TASKS

from gradfeat.maths.streams import stream


@pytest.mark.parametrize("check", TASK_CHECKS)
@pytest.mark.parametrize("task", TASKS, ids=repr)
def test_task(task, check):
    check(task)


@pytest.mark.parametrize("task", TASKS, ids=repr)
def test_an_empty_sample_is_refused(task):
    with pytest.raises(ValueError, match="a sample of 0 rows"):
        task.sample(0, stream(0, "none"))
