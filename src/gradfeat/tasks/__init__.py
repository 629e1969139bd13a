"""Data models with known truth: a distribution of (x, y), the directions that matter, E[y|x]."""
