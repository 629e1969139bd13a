"""Solvers of (K + alpha W^{-1}) c = y: one algorithm a file, one interface."""
