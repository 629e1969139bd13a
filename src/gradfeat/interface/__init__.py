"""Comparisons and diagnoses of tables as objects, for Python, notebooks and the command line."""
