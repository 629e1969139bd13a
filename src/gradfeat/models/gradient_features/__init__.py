"""Directions that the first gradients of random neurons agree on (Shi23)."""
