"""Passes over rows that need not fit in memory: sources of blocks, and engines that sum them."""
