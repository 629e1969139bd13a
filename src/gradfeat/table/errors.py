"""The one exception whose message is for the person at the keyboard."""

from __future__ import annotations

from gradfeat.rows.sources.words import listing, near_names

__all__ = ["TableError", "listing", "near_names"]


class TableError(ValueError):
    """A table, target or file that cannot be used: one sentence saying what came and what to do.

    The command line prints the sentence and exits with code 2.
    """
