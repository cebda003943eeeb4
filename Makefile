# Every target creates and uses .venv in this folder; nothing needs to be installed by hand.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test test-fast lint types bench bench-speed clean

demo: $(STAMP)  ## cluster an example data set: centres, sizes, rules, privacy statement, a picture
	$(BIN)/python -m dpmondrian.demo

test: $(STAMP)  ## run the whole test suite
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)  ## check style
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(STAMP)  ## check types
	$(BIN)/mypy

bench: $(STAMP)  ## quality, speed and memory against KMeans (needs the data sets, see benchmarks/README.md)
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.speed

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache demo-output benchmarks/output

# uv installs from the lock file; where it is missing it is taken from PyPI into the environment itself.
$(STAMP): pyproject.toml uv.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	command -v $(BIN)/uv > /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	UV_PROJECT_ENVIRONMENT=$(VENV) UV_COMPILE_BYTECODE=1 $(BIN)/uv sync --frozen --inexact --quiet
	touch $@
