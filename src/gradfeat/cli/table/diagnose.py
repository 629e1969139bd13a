"""diagnose: read a table, test it, write a report."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Literal

from rich.console import Console

from gradfeat.cli.progress import StepBar
from gradfeat.interface.plain_values import finite
from gradfeat.reports import diagnosis_text, render_diagnosis
from gradfeat.table.atomic import check_folder, write_folder
from gradfeat.table.diagnose import diagnose
from gradfeat.table.diagnosis_rows import DiagnosisRequest
from gradfeat.table.read import read_table
from gradfeat.table.steps import Steps

Task = Literal["auto", "regression", "classification"]


def diagnose_table(data: Path, target: str, task: Task, out: Path, seed: int) -> None:
    """Diagnose a table; write report and results to the folder `out`."""
    command = "gradfeat " + " ".join(shlex.quote(word) for word in sys.argv[1:])
    request = DiagnosisRequest(data.name, target, task, seed, command)
    console = Console(highlight=False)
    check_folder(out)
    with StepBar(console) as bar:
        steps = Steps(bar.tell)
        steps.begin("Reading", 0.0)
        found = diagnose(read_table(data), request, steps)
    console.print(diagnosis_text(found))
    record = finite(dataclasses.asdict(found))
    files: dict[str, str | bytes] = {
        "results.json": json.dumps(record, indent=1, allow_nan=False),
        "report.html": render_diagnosis(found),
    }
    write_folder(out, files)
    console.print(f"\nReport: {out / 'report.html'}", markup=False, soft_wrap=True)
