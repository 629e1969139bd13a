"""Reports: comparisons and diagnoses as HTML pages and as text for the terminal."""

from gradfeat.reports.diagnosis import render_diagnosis
from gradfeat.reports.fit import render
from gradfeat.reports.terminal import diagnosis_text, terminal_table

__all__ = ["diagnosis_text", "render", "render_diagnosis", "terminal_table"]
