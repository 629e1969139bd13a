"""Experiments that ship, one a file: EXPERIMENT, named like its file with dashes."""
