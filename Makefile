# make run        install and open the app on bundled data
# make serve      the same for a class: other computers of this network can connect
# make test       install and run everything that a change can break
# make test-long  what takes longer
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: run serve test test-long lint format bench clean

run: $(VENV)/.run-installed
	$(BIN)/streamlit run app.py

serve: $(VENV)/.run-installed
	@$(BIN)/python tools/serve.py --port $(PORT)

test: lint
	@tools/ensure_chromium
	$(PYTEST) -n 2 --dist loadgroup -m "not long"

test-long: $(VENV)/.test-installed
	@tools/ensure_chromium
	$(PYTEST) -m long 2>&1 | sed "s#$(CURDIR)#.#g" | tee docs/test-long.txt

lint: $(VENV)/.test-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.test-installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test-installed
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "loopylatent needs Python 3.11 or newer as '$(PYTHON)'. Install it, or name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python cannot make a virtual environment. On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }

$(VENV)/.run-installed: requirements.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the app needs into $(VENV) (a minute or two, once) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.test-installed: requirements-dev.txt $(VENV)/.run-installed
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-dev.txt
	@touch $@
