"""Convex heads under norm bounds, with a certified gap."""
