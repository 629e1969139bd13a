"""How the cells of a column are read: one kind of reading a file, decided once by `decide`."""
