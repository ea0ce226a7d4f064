# adjudge: `make help` lists the targets. Needs make and Python 3.11, 3.12 or 3.13; everything else goes into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
INSTALL := $(PIP) install --quiet --require-hashes --only-binary :all:
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--exclude-newer '7 days' --custom-compile-command 'make lock'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help quickstart install dev test soak check format benchmark benchmark-peers benchmark-guard wheel schema lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

quickstart: install ## install into .venv and run configs/quickstart.yaml
	$(BIN)/adjudge run configs/quickstart.yaml

install: $(VENV)/.installed ## install adjudge into .venv

dev: $(VENV)/.dev ## install what tests and checks need as well

test: dev ## run the tests
	$(BIN)/pytest

soak: dev ## run the tests that take minutes
	$(BIN)/pytest -m soak --timeout 1800

check: dev ## lint, formatting, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: dev ## format and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: dev ## measure adjudge beside its floors and peers; writes docs/benchmarks.md, takes a quarter of an hour
	$(BIN)/python benchmarks/live.py --write

benchmark-peers: dev ## install the peers that `make benchmark` compares with, each by itself in .benchmarks/
	BIN=$(BIN) sh benchmarks/peers/install

benchmark-guard: dev ## check that a verdict costs no multiple of what it has to
	$(BIN)/python benchmarks/guard.py

wheel: install ## build the wheel into dist/
	rm -rf build dist
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

schema: install ## write configs/suite.schema.json anew, for editors
	$(BIN)/adjudge schema > configs/suite.schema.json

lock: ## bring requirements/ up to date with pyproject.toml (needs uv; everything else does not)
	$(LOCK) --upgrade --group build --output-file requirements/build.txt
	$(LOCK) --upgrade pyproject.toml --output-file requirements/run.txt
	$(LOCK) --upgrade pyproject.toml --group dev --constraints requirements/run.txt \
		--output-file requirements/dev.txt

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
		found="`$(PYTHON) --version 2>/dev/null`"; \
		echo "adjudge needs Python 3.11, 3.12 or 3.13; '$(PYTHON)' is $${found:-not to be found}." >&2; \
		echo "Name another one, such as: make PYTHON=python3.13 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements/build.txt requirements/run.txt pyproject.toml
	$(INSTALL) -r requirements/build.txt -r requirements/run.txt
	$(PIP) install -qq --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed requirements/dev.txt
	$(INSTALL) -r requirements/dev.txt
	@touch $@
