# Needs Python >= 3.11 and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format fuzz bench gpu tree tables commands clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

setup: .venv/stamp ## create .venv with stepprof and its tools (again only when pyproject.toml changes)

.venv/stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "stepprof needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv/test-stamp: .venv/stamp requirements-test.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	@touch $@

demo: setup ## show where a step of the sample capture goes, and write its report to build/demo.html
	@mkdir -p build
	$(BIN)/stepprof demo --html build/demo.html --force

test: lint ## the whole gate: lint, types, tests that need no GPU
	$(BIN)/pytest -q -m 'not gpu' --numprocesses 2 --dist loadgroup

lint: .venv/test-stamp ## ruff, format check, pyright
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

format: setup ## sort imports, mend what ruff can, format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

fuzz: setup ## damage traces in new ways for STEPPROF_FUZZ_SECONDS (600)
	STEPPROF_FUZZ_SECONDS=$(or $(STEPPROF_FUZZ_SECONDS),600) $(BIN)/pytest -q tests/profiler/ingest/test_mutations.py

bench: setup ## measure import and accounting of large traces (minutes; with peers: benchmarks/ingest.py --help)
	$(BIN)/python benchmarks/ingest.py --size 100k,1m --no-peers

gpu: .venv/test-stamp ## tests that need an NVIDIA GPU
	$(BIN)/pytest -q -m gpu

tree: setup ## rewrite README's tree from the files' first lines
	$(BIN)/python docs/readme_tree.py

tables: setup ## rewrite docs/tables.md from the comments of the SQL files
	$(BIN)/python docs/table_reference.py

commands: .venv/test-stamp ## rewrite the generated parts of docs/commands.md from the commands
	$(BIN)/python docs/command_reference.py

clean: ## remove .venv, caches and build output
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist .package/stepprof.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
