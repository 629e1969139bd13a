"""Mergeable statistics of rows, one a file."""
