"""What every figure is made of: colours, strokes, numbers in words, panels and files."""
