"""`python -m dam_sync`."""

from dam_sync.cli import main

if __name__ == "__main__":
    main()
