# make setup: everything from the lock file into .venv.  make test: what CI runs.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
export UV_PROJECT_ENVIRONMENT := .venv
# The tests start many short Python processes: compiled files make that bearable.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test lint types layers unit bench docs format clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

.venv/.ready: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "fanwise needs Python 3.11 or newer: make setup PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	$(BIN)/uv sync --frozen --inexact --quiet --python $(BIN)/python
	@touch $@

setup: .venv/.ready  ## a virtual environment with all that is needed, from uv.lock

run: setup  ## the main job: a small durable fan-out that you can watch
	@$(BIN)/python examples/first_run.py

test: lint types layers unit  ## all checks and all tests

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

unit: setup
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered

bench: setup  ## the benchmarks: ratios side by side, see bench/README.md
	$(BIN)/python -m bench

docs: setup  ## write docs/reference from the docstrings
	$(BIN)/python docs/generate.py

format: setup  ## let ruff rewrite what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove the virtual environment and caches
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .coverage* dist
