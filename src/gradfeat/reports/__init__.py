"""Reports: a comparison as an HTML page and as a table for the terminal."""

from gradfeat.reports.page import render
from gradfeat.reports.terminal import terminal_table

__all__ = ["render", "terminal_table"]
