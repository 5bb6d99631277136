# Each target makes what it needs: a virtual environment in .venv, with the project installed in place.
# `make demo` installs the library and the command line; the tests install what they need beside it.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 10 --constraint requirements-dev.lock
# Where /dev/shm has room, the tests keep their files there: they wait for a disk some 100,000 times.
SHM := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "TMPDIR=/dev/shm" }')
PYTEST := $(SHM) $(BIN)/python -m pytest -n 2 --dist loadgroup -rs
QUICK := architecture context folding forgetting formats knowledge language log maintenance models profiles \
  search storage tenancy workers
PROGRAMS := $(BIN)/python scripts/programs.py
export PYTHONHASHSEED ?= random
unexport PYTHONDONTWRITEBYTECODE  # the tests start some 200 processes, which need not compile everything anew

.PHONY: help demo quick test test-all check static bench page screenshots lock fix clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "make %-12s %s\n", $$1, $$2 }'

.venv/library: pyproject.toml requirements-dev.lock
	@echo "making .venv with the library and the command line"
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	touch $@

.venv/tests: .venv/library
	@echo "installing into .venv what the tests and tools need: about 170 packages, 1 GB, a few minutes"
	$(INSTALL) --editable '.[dev]'
	touch $@

demo: .venv/library  ## replay the bundled conversation and look into its memory
	$(BIN)/lamina demo

quick: .venv/tests  ## in 90 seconds: static checks; the tests of the subjects, models and stores on SQLite
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target static quick-tests

.PHONY: quick-tests
quick-tests: .venv/tests
	$(PYTEST) -m "not full and not postgres" $(addprefix tests/,$(QUICK))

test: .venv/tests  ## every behaviour once, in about 20 minutes; what lands has passed this
	$(PROGRAMS) chromium pgbouncer
	$(PYTEST)

test-all: .venv/tests  ## everything at full size, on every database, with the coverage of `make test`
	$(PROGRAMS) chromium pgbouncer
	$(BIN)/coverage erase
	$(SHM) $(BIN)/coverage run -m pytest -n 2 --dist loadgroup
	TEST_SIZE=full $(PYTEST) -m ""
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: static test  ## static checks, then `make test`

static: .venv/tests  ## format, lint, types and architecture contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/tests  ## ratios against raw SQLite, growth, throughput on both stores; plots in benchmarks/results
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.throughput

page: .venv/tests  ## build the inspector's page from web/; needs Node
	$(BIN)/python scripts/page_shapes.py
	cd web && npm install --no-save && npm run check && npm run build

screenshots: .venv/tests  ## pictures of every screen in build/screenshots; renews those in docs/images/inspector
	$(PROGRAMS) chromium
	LAMINA_SCREENSHOTS=build/screenshots $(BIN)/python -m pytest -m "" tests/inspector/test_looks.py
	for one in docs/images/inspector/*.png; do cp build/screenshots/$$(basename $$one) $$one; done

lock: .venv/tests  ## choose the newest versions that pyproject.toml allows, for requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --no-annotate --extra dev pyproject.toml -o requirements-dev.lock

fix: .venv/tests  ## format and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove the environment and what was built
	rm -rf .venv build dist
