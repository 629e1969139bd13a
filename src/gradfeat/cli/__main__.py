"""`python -m gradfeat.cli`."""

from gradfeat.cli.app import main

if __name__ == "__main__":
    main()
