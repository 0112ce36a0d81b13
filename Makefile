# make run        install and open the app on bundled data
# make serve      the same for a class: other computers on this network can connect
# make test       install and run all checks
# make test-long  longer tests, and the docs
# make lock       update the lock files, with a hash for every file that may be installed
# make audit      check the lock files for known vulnerabilities
# make test-pythons  tests without a browser on every supported Python installed
# make docs       the guides and the API reference as a site, in site/
# make pictures   retake the screenshots of the docs
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
TOOLS := .venv-tools
PYTEST := $(BIN)/python -m pytest
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: run serve test test-long test-pythons docs pictures lint format bench clean lock audit

run: $(VENV)/.run-installed
	$(BIN)/streamlit run app.py

serve: $(VENV)/.run-installed
	@$(BIN)/python tools/serve.py --port $(PORT)

test: $(VENV)/.test-installed
	@tools/ensure_chromium
	@LOOPYLATENT_COMPILE=always $(BIN)/python -m loopylatent.ui.shell.warm_up > /dev/null & \
	  kernels=$$!; $(MAKE) --no-print-directory lint && wait $$kernels
	$(PYTEST) -n 3 -m "not long"

test-long: $(VENV)/.test-installed
	@tools/ensure_chromium
	@PYTHONUNBUFFERED=1 $(PYTEST) -m long
	@PYTHONUNBUFFERED=1 $(PYTEST) -m "hypothesis and not long" --hypothesis-profile fresh
	@$(MAKE) --no-print-directory docs

test-pythons: $(VENV)/bin/python
	@$(BIN)/python tools/test_pythons.py

docs: $(VENV)/.run-installed
	@$(INSTALL) -r requirements-docs.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(VENV)/.test-installed
	@tools/ensure_chromium
	$(BIN)/python tools/pictures.py

lint: $(VENV)/.test-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test-installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test-installed
	$(BIN)/python -m benchmarks

lock: $(TOOLS)/.installed
	@for name in requirements requirements-dev; do \
	  { echo "# Exact versions and hashes for $$name.txt; written by make lock"; \
	    $(TOOLS)/bin/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	      --no-header --no-annotate --no-emit-index-url $$name.txt; } > $$name.lock.new && \
	  mv $$name.lock.new $$name.lock || exit 1; done

audit:
	@$(MAKE) --no-print-directory $(TOOLS)/.installed && $(TOOLS)/bin/python tools/audit.py || \
	  { test ! -e $(TOOLS)/.installed && echo "audit skipped: pip-audit cannot be installed here"; }

$(TOOLS)/.installed:
	@$(PYTHON) -m venv $(TOOLS) && $(TOOLS)/bin/python -m pip install -q \
	  --disable-pip-version-check uv==0.13.7 pip-audit==2.10.1
	@touch $@

clean:
	rm -rf $(VENV) $(TOOLS) site

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "loopylatent needs Python 3.11 or newer as '$(PYTHON)'. Install it, or choose another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python cannot create a virtual environment. On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }

$(VENV)/.run-installed: requirements.lock pyproject.toml setup.py | $(VENV)/bin/python
	@echo "Installing the app into $(VENV) (once, a minute or two) ..."
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps -e .
	@$(BIN)/python -m compileall -q loopylatent
	@touch $@

$(VENV)/.test-installed: requirements-dev.lock $(VENV)/.run-installed
	@echo "Installing the test packages ..."
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@
