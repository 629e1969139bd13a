"""Sources of rows, one kind a file."""
