"""Reports: comparisons and diagnoses as HTML pages and as text for the terminal."""

from gradfeat.reports.diagnosis import contents as diagnosis_contents
from gradfeat.reports.fit import contents as fit_contents
from gradfeat.reports.words import diagnosis_text, losses_table, terminal_table

__all__ = ["diagnosis_contents", "diagnosis_text", "fit_contents", "losses_table", "terminal_table"]
