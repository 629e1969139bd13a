"""Errors whose message is one sentence for the person at the keyboard."""

from __future__ import annotations


class SourceError(ValueError):
    """Rows that cannot be read or used: which file and rows, what came, and what to do."""


class EngineError(RuntimeError):
    """Workers, a cluster or a checkpoint that failed: what happened, what is kept, what to do."""
