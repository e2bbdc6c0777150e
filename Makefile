# Everything a reader or a developer does, in one word each. `make` lists the targets.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
# Threads of a linear-algebra library would fight with the workers, and buy nothing at our sizes.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup book test lab notebooks lint bench lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "make %-10s %s\n", $$1, $$2}'

setup: $(STAMP) ## create .venv and install what the lock file names, with hashes

# The stamp is written last: an interrupted set-up is started again from a clean environment.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

book: $(STAMP) ## build the HTML book and say where it is
	$(BIN)/jupyter-book build book -W --keep-going -n --quiet
	@echo "The book is at $(CURDIR)/_build/html/index.html"

test: $(STAMP) ## run every unit test and every notebook
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q

lab: $(STAMP) ## open JupyterLab on the chapters
	$(BIN)/jupyter lab book

notebooks: $(STAMP) ## execute the chapters whose text or library changed (all with ALL=1)
	$(BIN)/python book/refresh.py $(if $(ALL),--all,)

lint: $(STAMP) ## ruff, and mypy in strict mode on gqlib
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP) ## measure the speed claims and print ratios
	$(BIN)/gq bench

lock: ## resolve pyproject.toml anew into requirements.lock (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: python3 -m pip install uv"; exit 1; }
	uv pip compile --universal --generate-hashes --no-header --no-emit-index-url \
	  --python-version 3.11 --all-extras --quiet pyproject.toml -o requirements.lock

clean: ## remove the environment and everything built
	rm -rf $(VENV) _build build *.egg-info .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
