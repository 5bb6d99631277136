# Each target sets up what it needs: a virtual environment in .venv with the project installed in place.
PYTHON ?= python3
BIN := .venv/bin
export PYTHONHASHSEED ?= random

.PHONY: demo test check bench page screenshots fix clean

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 10 --editable '.[dev]'
	touch $@

demo: .venv/ready  ## replay the bundled conversation and look into its memory
	$(BIN)/lamina demo

test: .venv/ready  ## every test
	$(BIN)/python scripts/programs.py
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: .venv/ready  ## format, lint, types, architecture contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

bench: .venv/ready  ## ratios against raw SQLite, growth, throughput on both stores; plots in benchmarks/results
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.throughput

page: .venv/ready  ## build the inspector's page from web/; needs Node
	cd web && npm install --no-save && npm run check && npm run build

screenshots: .venv/ready  ## look at every screen of the inspector, for docs/images/inspector
	$(BIN)/python scripts/programs.py
	LAMINA_SCREENSHOTS=docs/images/inspector $(BIN)/python -m pytest tests/inspector/test_looks.py

fix: .venv/ready  ## format and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist
