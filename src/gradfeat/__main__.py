"""`python -m gradfeat`."""

from gradfeat.cli.app import main

if __name__ == "__main__":
    main()
