"""What a fit to rows that are passed over will take: time, memory and traffic, before it starts."""
