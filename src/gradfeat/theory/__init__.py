"""Closed forms of the papers: NumPy and SciPy, numbers in and numbers out."""
