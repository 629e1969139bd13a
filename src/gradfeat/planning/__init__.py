"""What a fit to rows that stream will take: time, memory and traffic, before it starts."""
