"""Reports: comparisons and diagnoses as HTML pages and as text for the terminal."""

from gradfeat.reports.diagnosis_page import render_diagnosis
from gradfeat.reports.diagnosis_terminal import diagnosis_text
from gradfeat.reports.page import render
from gradfeat.reports.terminal import terminal_table

__all__ = ["diagnosis_text", "render", "render_diagnosis", "terminal_table"]
