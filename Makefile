# make setup: everything from the lock file into .venv.  make test: before each commit.
.DEFAULT_GOAL := help
PYTHON ?= python3
# The other versions that make test-all tries, each in a virtual environment of its own.
PYTHONS ?= 3.12 3.13 3.14
BIN := .venv/bin
# One more than there are cores: many tests wait for processes of their own.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist worksteal
# Where the quick tests keep their files: in memory, where there is room, for they sync a lot.
TEMP := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print ($$4 > 4000000) ? "/dev/shm" : "/tmp" }')
export UV_PROJECT_ENVIRONMENT := .venv
# The tests start many short Python processes: compiled files make that bearable.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test test-all checks lint types layers unit slow coverage fuzz bench docs docs-serve format release clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/.ready: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "fanwise needs Python 3.11 or newer: make setup PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	$(BIN)/uv sync --frozen --inexact --quiet --python $(BIN)/python
	@touch $@

setup: .venv/.ready  ## a virtual environment with all that is needed, from uv.lock

run: setup  ## the main job: two prompts compared on a model that runs here; no key, a minute
	@mkdir -p .fanwise && $(BIN)/fanwise pull smollm2
	@echo "Asking the model 48 questions: examples/matrix.yaml" >&2
	@# Cells that failed are a 1, and part of the report. The next time they are tried again.
	@# The run has printed its table: of the report, only the place is told.
	@code=0; $(BIN)/fanwise run examples/matrix.yaml --rerun failed || code=$$?; \
	if test $$code -le 1; then $(BIN)/fanwise report words --output .fanwise/words.html > /dev/null || exit; \
	  echo "To try next:" >&2; \
	  echo "  $(BIN)/fanwise view words                      watch it in the browser" >&2; \
	  echo "  edit a prompt in examples/matrix.yaml, make run   only the changed cells are asked" >&2; \
	  echo "  $(BIN)/fanwise show words --items              every question and answer" >&2; fi; \
	exit $$code

test: checks unit  ## all checks, and the tests without the slow ones: five minutes on two cores

test-all: test slow $(PYTHONS:%=unit-%)  ## everything, also on other Pythons that are there

# Side by side: each uses one core.
checks: setup
	@$(MAKE) --no-print-directory -j --output-sync=target lint types layers

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

unit: setup
	@folder=$$(mktemp -d $(or $(TEMP),/tmp)/fanwise.XXXXXX) && trap 'rm -rf "$$folder"' EXIT && \
	  PYTEST_DEBUG_TEMPROOT=$$folder $(PYTEST) -m "not slow"

slow: setup  ## what make test leaves out: slow tests, and property tests with many examples
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile=full -o faulthandler_timeout=0

# Not a part of make test: in all the processes that tests start it costs half as much again.
coverage: setup  ## the tests, and which lines they do not reach
	$(PYTEST) --cov --cov-report=term:skip-covered

# One other version, as in make unit-3.13: from the search path, or from pyenv.
unit-%: setup
	@python=$$(for each in python$* $(HOME)/.pyenv/versions/$*.*/bin/python; do \
	    "$$each" -c 'import sys; print(sys.executable)' 2>/dev/null && break; done); \
	if test -z "$$python"; then echo "There is no Python $* here: its tests are left out"; exit; fi; \
	set -ex; export UV_PROJECT_ENVIRONMENT=.venv-$*; \
	test -x .venv-$*/bin/python || $(BIN)/uv venv --quiet --python "$$python" .venv-$*; \
	$(BIN)/uv sync --frozen --quiet; \
	.venv-$*/bin/python -m $(PYTEST:$(BIN)/%=%) $(TESTS)

# A seed of your own: make fuzz SEED=1. Some of the tests: make fuzz TESTS=tests/kernel.
fuzz: SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fuzz: setup  ## the property tests, long and with a fresh seed, which is printed
	$(PYTEST) -m hypothesis -o faulthandler_timeout=0 \
	  --hypothesis-profile=fuzz --hypothesis-seed=$(SEED) $(TESTS)

bench: setup  ## the benchmarks: ratios side by side, see bench/README.md
	$(BIN)/python -m bench

docs: setup  ## write docs/reference from the docstrings, and build the site into .site/html
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/build_site.py

docs-serve: setup  ## show the site on this machine
	$(BIN)/python docs/build_site.py --serve

format: setup  ## let ruff rewrite what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

release: setup  ## build, test the wheel on each Python that is here, cut the changelog, tag: VERSION=0.2.0
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/release.py $(VERSION)

clean:  ## remove the virtual environment and caches
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .import_linter_cache .coverage* .site dist
