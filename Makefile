# Everything a reader or a developer does, in one word each. `make` lists the targets.
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
.PHONY: help setup book live test-live pdf test test-all older mutants planted lab notebooks pictures lint bench lock clean coverage licences sbom latest wheels proofs data article epub release

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "make %-10s %s\n", $$1, $$2}'

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

live: book ## let the book's cells be changed and run in its pages (once 120 MB from the Python index and npm; GQ_LIVE_CACHE, GQ_LIVE_FROM)
	@$(BIN)/python book/live/pack.py

test-live: live ## run every chapter in Chromium, and one in Firefox, and compare what they print with the records (an hour)
	GQ_LIVE_ALL=1 $(BIN)/python -m pytest tests/test_live.py -q -rs

# TeX is looked for before anything is set up.
pdf: ## build the PDF edition and say where it is (needs TeX)
	@$(PYTHON) book/pdf.py --check
	@$(MAKE) --no-print-directory $(STAMP)
	@$(BIN)/python book/pdf.py

article: ## make the article, LaTeX and PDF, and say where it is (needs TeX)
	@$(PYTHON) book/article.py --check
	@$(MAKE) --no-print-directory $(STAMP)
	@$(BIN)/python book/article.py

epub: $(STAMP) ## build the EPUB edition, check it where epubcheck is installed, and say where it is
	@$(BIN)/python book/epub.py

test: $(STAMP) ## run every unit test and every notebook, and look at some pages in a browser
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q -m "not thorough"

test-all: $(STAMP) ## the same, and every page in a browser, every form of the book, faults, kernels with bounds checks
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q

older: $(STAMP) ## run every notebook with the arithmetic of an older processor: BLAS kernels for SSE, NumPy without AVX
	OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR" \
	  $(BIN)/python -m pytest book -n $(JOBS) --dist loadfile -q

mutants: $(STAMP) ## change the code in small ways and see that the unit tests notice (hours; goes on where it was; SLICE=control/agent is one module)
	$(BIN)/python tests/mutants.py --jobs $(JOBS) $(SLICE)

planted: $(STAMP) ## plant errors in the derivations and see that the chapters notice (half an hour)
	$(BIN)/python tests/planted.py --jobs $(JOBS)

coverage: $(STAMP) ## line coverage of gqlib by the unit tests alone; fails below 95%
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest tests -m "not slow" -n $(JOBS) --dist loadfile -q
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

licences: $(STAMP) ## list the licence of every dependency
	$(BIN)/python .ci/licences.py

sbom: $(STAMP) ## write a software bill of materials, and check it against a local vulnerability database (GQ_OSV=all.zip)
	$(BIN)/python .ci/sbom.py
	$(BIN)/python .ci/audit.py

data: $(STAMP) ## pack every figure, table and result of the book as CSV, with a dictionary and checksums
	@$(BIN)/python .ci/data.py

release: $(STAMP) ## build packages, book, PDF, EPUB, article, data and SBOM, with checksums, twice, and compare (ten minutes)
	@$(BIN)/python .ci/release.py

latest: ## run the tests with the newest allowed versions, in .venv-latest, and say what breaks
	$(PYTHON) .ci/latest.py -n $(JOBS) --dist loadfile $(ARGS)

wheels: $(STAMP) ## build the package and try its wheel in empty environments of Python 3.11, 3.12 and 3.13
	$(BIN)/python .ci/wheels.py

proofs: ## let Coq check the machine-checked core (OPTIONAL=1: no fault where Coq is missing)
	@$(PYTHON) proofs/check.py $(if $(OPTIONAL),--optional,)

# Copies that JupyterLab can show, in lab/; they are the reader's, and `make clean` leaves them alone.
lab: book ## open the chapters as notebooks in JupyterLab, to read, change and run
	@$(BIN)/python book/lab.py
	JUPYTER_CONFIG_PATH="$(CURDIR)/lab/.jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab lab/00_index.ipynb \
	  --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate

notebooks: $(STAMP) ## execute the chapters whose code or data changed, and move changed prose into records (all with ALL=1)
	$(BIN)/python book/refresh.py --jobs $(JOBS) $(if $(ALL),--all,)

pictures: book ## take the pictures of this edition that stand beside those of the first (needs Chromium)
	@$(BIN)/python book/editions.py

lint: $(STAMP) ## ruff, and mypy in strict mode on gqlib
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP) ## measure the speed claims and print ratios
	$(BIN)/python -m benchmarks

lock: ## resolve pyproject.toml anew into requirements.lock (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: python3 -m pip install uv"; exit 1; }
	uv pip compile --universal --generate-hashes --no-header --no-emit-index-url \
	  --python-version 3.11 --all-extras --quiet pyproject.toml -o requirements.lock

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(VENV)-latest _build build *.egg-info .mypy_cache .ruff_cache .hypothesis .coverage* mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
