"""`python -m adjudge`."""

from adjudge.pipeline.cli.app import main

if __name__ == "__main__":
    raise SystemExit(main())
