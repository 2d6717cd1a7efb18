"""`python -m nginxopt`."""

from nginxopt.cli import main

if __name__ == "__main__":
    main()
