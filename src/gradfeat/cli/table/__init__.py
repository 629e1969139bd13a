"""Commands on a table: diagnose, fit, predict, refit, and show of a model."""
