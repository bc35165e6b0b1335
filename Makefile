# Everything sets itself up in .venv: `make run` and `make test` work from a fresh checkout.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CORE_SOURCES := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
PATHS := src tests scripts $(wildcard benchmarks)

.PHONY: run test lint format types layers pages docs sanitize browser bench peers estimator wheel clean help
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "tilth needs Python 3.11 or newer, and none was found; set PYTHON=/path/to/python3."; exit 1; }
	@echo "==> making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The editable install also builds the compiled core into src/tilth.
$(VENV)/installed: $(VENV)/made pyproject.toml CMakeLists.txt $(CORE_SOURCES)
	@echo "==> installing tilth and building its core (a minute or two the first time)"
	@rm -f src/tilth/_core*.so
	@$(PIP) install --editable .
	@touch $@

$(VENV)/tools-%: $(VENV)/installed pyproject.toml scripts/requirements.py
	@echo "==> installing the $* tools"
	@$(BIN)/python scripts/requirements.py $* >$(VENV)/$*.txt
	@$(PIP) install --quiet --requirement $(VENV)/$*.txt
	@touch $@

run: $(VENV)/installed ## a whole run on a bundled table, ending with a report
	@$(BIN)/tilth run titanic --budget 30s --sensitive sex --keep-sensitive

test: $(VENV)/tools-test ## all tests and doctests
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

lint: $(VENV)/tools-dev ## style of the sources
	@$(BIN)/ruff check $(PATHS)
	@$(BIN)/ruff format --check $(PATHS)

format: $(VENV)/tools-dev ## put the sources in style
	@$(BIN)/ruff check --fix $(PATHS)
	@$(BIN)/ruff format $(PATHS)

types: $(VENV)/tools-dev ## strict type checks
	@$(BIN)/mypy

layers: $(VENV)/tools-dev ## imports point down
	@$(BIN)/lint-imports

pages: $(VENV)/installed ## write registry, stub and generated pages
	@for s in public_names model_page coverage_rows audit_page; do $(BIN)/python scripts/$$s.py || exit 1; done

docs: $(VENV)/installed ## generated pages and stubs are up to date
	@$(BIN)/python scripts/coverage_rows.py --check
	@$(BIN)/python scripts/public_names.py --check
	@$(BIN)/python scripts/model_page.py --check
	@$(BIN)/python scripts/audit_page.py --check

sanitize: $(VENV)/tools-dev ## C++ tests under address and undefined-behaviour sanitizers
	@$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DTILTH_SANITIZE=ON
	@$(BIN)/cmake --build build/sanitize
	@$(BIN)/ctest --test-dir build/sanitize --output-on-failure

browser: ## a browser for the tests that open pages, where system packages can be installed; else they are skipped
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	{ command -v apt-get >/dev/null && test "$$(id -u)" = 0 && apt-get update -qq && \
	apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; } || \
	echo "==> no browser could be installed: tests that need one are skipped"

mutants: $(VENV)/tools-test ## small faults planted in a copy of the sources: which ones no test notices
	@$(BIN)/python scripts/mutants.py $(ARGS)

bench: $(VENV)/tools-test ## speed beside other libraries; those that are not installed are left out and named
	@$(BIN)/python -m benchmarks $(ARGS)

peers: $(VENV)/tools-bench ## the libraries that bench compares with, besides scikit-learn

estimator: $(VENV)/installed ## skeleton of a model: make estimator NAME=MyDetector KIND=detector CHAPTER=anomaly
	@$(BIN)/python scripts/new_estimator.py "$(NAME)" --kind "$(KIND)" --chapter "$(CHAPTER)"

wheel: $(VENV)/made ## a wheel in dist/
	@$(PIP) wheel --no-deps --wheel-dir dist .

clean: ## remove all that was made here
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache src/tilth/_core*.so
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
