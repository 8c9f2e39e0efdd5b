# The two commands of README.md, `make verdict` and `make test`, and the steps they are made of.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
INSTALL := $(PIP) install --constraint constraints.txt --build-constraint constraints.txt
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
DEBIAN_PACKAGES := chromium  # the report is opened in a browser

# The steps of `make test` come one after the other; pytest is the last to speak.
.NOTPARALLEL:

.PHONY: help verdict test install develop system check format docs clean

help:
	@echo 'make verdict   install icmodel into $(VENV) and judge both use cases on 10 Gb/s Ethernet'
	@echo 'make test      install what the tests need, check lint, format and types, run every test'
	@echo 'make install   icmodel and its extras, editable, in $(VENV)'
	@echo 'make develop   the same, and what tests, lint and docs need'
	@echo 'make check     lint, format and strict types'
	@echo 'make format    put the code into the one format'
	@echo 'make docs      build the documentation into site/'
	@echo 'make clean     remove what was built'

verdict: install
	@for usecase in imaging motion-control; do \
		echo "\$$ icmodel evaluate $$usecase --dataset ethernet-10g-2012"; \
		$(BIN)/icmodel evaluate $$usecase --dataset ethernet-10g-2012 || test $$? -eq 1 || exit; \
		echo; \
	done

test: system develop check
	$(BIN)/python -m pytest

install: $(VENV)/icmodel
develop: $(VENV)/develop

$(VENV)/pip: constraints.txt
	@echo 'installing into $(VENV): about a minute the first time'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --constraint constraints.txt pip
	@touch $@

$(VENV)/icmodel: $(VENV)/pip pyproject.toml
	@$(INSTALL) --editable '.[all]'
	@touch $@

$(VENV)/develop: $(VENV)/icmodel
	@$(INSTALL) --group dev
	@touch $@

# Debian's packages that tests use; elsewhere those tests say what is missing and skip.
system:
	@if command -v apt-get >/dev/null && { test -n "$$CI" || ! command -v chromium >/dev/null; }; then \
		set -ex; \
		$(SUDO) apt-get -qq update; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y $(DEBIAN_PACKAGES) >/dev/null; \
	fi

check: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: develop
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf $(VENV) build dist site *.egg-info .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
