# The eight words of this project; `make` lists them. Everything else is a command: see tools/, each with --help.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
STAMP := $(VENV)/.installed
JOBS ?= 2
# Threads of a linear-algebra library would fight with the workers, and buy nothing at our sizes.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Byte code that may not be kept is compiled again by every process of every test: a minute of the quick ones.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup book test test-all lint lab live release

help:
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "make %-9s %s\n", $$1, $$2}'
	@echo
	@echo "The rest are commands for $(BIN)/python, each with --help:"
	@echo "  book/refresh.py   execute the chapters whose code or data changed"
	@echo "  book/pdf.py, book/article.py, book/epub.py, tools/data.py   the book in other forms"
	@echo "  tools/*.py        checks before a release; -m benchmarks: the speed; proofs/check.py: the proofs"

setup: $(STAMP) ## create .venv and install what the lock file names, with hashes

# The stamps are written last: an interrupted set-up is started again from a clean environment.
# The lock names everything, so pip resolves nothing; with hashes it could not where a dependency asks for an extra.
$(LOCKED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@touch $@

# A change of pyproject.toml alone needs gqlib again, not the two hundred packages.
$(STAMP): $(LOCKED) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

book: $(STAMP) ## build the HTML book and say where it is
	$(BIN)/jupyter-book build book -W --keep-going -n --quiet
	@echo "The book is at $(CURDIR)/_build/html/index.html"

test: $(STAMP) ## run every unit test and every notebook, and look at some pages in a browser
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q -m "not thorough"

test-all: $(STAMP) ## the same, and every page in a browser, every form of the book, faults, kernels with bounds checks
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q

lint: $(STAMP) ## ruff, and mypy in strict mode on gqlib
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet . || { echo "Not as ruff formats it: $(BIN)/ruff format ."; exit 1; }
	$(BIN)/mypy

# Copies that JupyterLab can show, in lab/; they are the reader's, and nothing removes them.
lab: book ## open the chapters as notebooks in JupyterLab, to read, change and run
	@$(BIN)/python book/lab.py
	JUPYTER_CONFIG_PATH="$(CURDIR)/lab/.jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab lab/00_index.ipynb \
	  --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate

live: book ## let the book's cells be changed and run in its pages (once 120 MB from the Python index and npm; GQ_LIVE_CACHE, GQ_LIVE_FROM)
	@$(BIN)/python book/live/pack.py

release: $(STAMP) ## build packages, book, PDF, EPUB, article, data and SBOM, with checksums, twice, and compare (ten minutes)
	@$(BIN)/python tools/release.py
