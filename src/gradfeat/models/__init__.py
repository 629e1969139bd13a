"""Predictors (two-layer nets, kernel machines) and the learners that return them."""
