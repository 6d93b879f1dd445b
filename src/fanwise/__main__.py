"""`python -m fanwise`."""

from fanwise.cli.main import main

if __name__ == "__main__":
    main()
