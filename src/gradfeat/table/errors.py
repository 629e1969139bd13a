"""The one exception whose message is for the person at the keyboard."""

from __future__ import annotations


class TableError(ValueError):
    """A table, target or file that cannot be used: one sentence saying what came and what to do.

    The command line prints the sentence and exits with code 2.
    """
