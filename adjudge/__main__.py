"""`python -m adjudge`."""

from adjudge.pipeline.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
