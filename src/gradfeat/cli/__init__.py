"""The command line: fit and predict on a table, experiments of the lab, show for both."""

from gradfeat.cli.app import app, main
from gradfeat.cli.guard import guarded

__all__ = ["app", "guarded", "main"]
