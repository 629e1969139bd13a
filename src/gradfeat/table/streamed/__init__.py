"""Tables that are passed over instead of held: looked at once, then encoded as they are read."""
