# The two commands of README.md, `make verdict` and `make test`, and the steps they are made of.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
# What is imported is compiled then: most of what is installed never is.
INSTALL := $(PIP) install --no-compile --constraint constraints.txt --build-constraint constraints.txt
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
# Pages are opened in a browser, workbooks in LibreOffice, completions in three shells; the probe is run in networks of its own, beside other tools.
DEBIAN_PACKAGES := chromium-headless-shell ethtool fish groff-base iperf3 iproute2 iptables libreoffice-calc-nogui liburing-dev libzmq5 nftables nuttcp \
    openssh-client openssh-server sockperf zsh

# Rust is the machine's own, and nothing here downloads one. rustup's cargo looks for it below HOME;
# where HOME is another (CI), it is told where: beside its own folder, or below this user's home.
export MATURIN_NO_INSTALL_RUST := 1
export RUSTUP_AUTO_INSTALL := 0
CARGO := cd calibration && cargo
PROXIES := $(dir $(shell command -v cargo))
OWN_HOME := $(shell eval echo ~$$(id -un))
RUSTUP := $(wildcard $(HOME)/.rustup/toolchains $(PROXIES:%=%../../.rustup/toolchains) \
	$(PROXIES:%=%../../rustup/toolchains) $(OWN_HOME)/.rustup/toolchains)
ifndef RUSTUP_HOME
ifneq ($(RUSTUP),)
export RUSTUP_HOME := $(abspath $(dir $(firstword $(RUSTUP))))
endif
endif

# A build that is made once needs no notes of what changed, and no line numbers for a debugger.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := false
export CARGO_PROFILE_RELEASE_DEBUG := false
endif
# Unit tests are compiled unoptimised and with every check of debug builds, in a fraction of the time, upon the
# dependencies of the release build; and by clippy, so that one compilation lints and makes them.
LINTED_TESTS := cd calibration && RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/calibration/lint-rustc \
	cargo test --quiet --release --locked \
	$(patsubst %,--config profile.release.package.icprobe.%,opt-level=0 debug-assertions=true overflow-checks=true)
# The others test what users get.
TESTS := $(CARGO) test --release --locked --test '*'

.PHONY: help verdict test measure measure-crate measure-alone measure-pytest install develop system toolchain compiled \
	probe check check-probe crate linted tests-compiled measured alone pytest format docs clean

help:
	@echo 'make verdict   install icmodel into $(VENV) and judge both use cases on 10 Gb/s Ethernet'
	@echo 'make test      install what the tests need, check lint, format and types, run every test'
	@echo 'make measure   long measurements that tests leave out, more than an hour on a machine left to itself'
	@echo 'make install   icmodel and its extras, editable, in $(VENV)'
	@echo 'make probe     compile the measuring tool icprobe into $(VENV); needs Rust'
	@echo 'make develop   icmodel, its extras, and what tests, lint and docs need'
	@echo 'make check     lint, format and strict types; check-probe: the same and the tests, in Rust'
	@echo 'make format    put the code into the one format'
	@echo 'make docs      build the documentation into site/'
	@echo 'make clean     remove what was built'

verdict: install
	@for usecase in imaging motion-control; do \
		echo "\$$ icmodel evaluate $$usecase --dataset ethernet-10g-2012"; \
		$(BIN)/icmodel evaluate $$usecase --dataset ethernet-10g-2012 || test $$? -eq 1 || exit; \
		echo; \
	done

# cargo uses the processors while pip and apt wait for the network; then all that remains to be compiled
# is, beside what checks Python. What measures has nothing beside it, the rest runs together; pytest takes minutes
# longer than Rust's tests, so its summary comes last.
test: toolchain
	@$(MAKE) --no-print-directory -j2 compiled develop system
	@$(MAKE) --no-print-directory -j3 tests-compiled linted check
	@$(MAKE) --no-print-directory measured
	@$(MAKE) --no-print-directory alone
	@$(MAKE) --no-print-directory -j2 crate pytest

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
	@if command -v apt-get >/dev/null && { test -n "$$CI" || ! dpkg -s $(DEBIAN_PACKAGES) >/dev/null 2>&1; }; then \
		set -ex; \
		$(SUDO) apt-get -qq update; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y $(DEBIAN_PACKAGES) >/dev/null; \
	fi

toolchain:
	@{ cargo --version && cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1 || { \
		echo 'icprobe and its tests need Rust 1.88 or newer, with cargo, rustfmt and clippy: install' \
			'it with rustup (https://rustup.rs); `make verdict` and icmodel itself need none' >&2; \
		exit 1; }

compiled: toolchain
	$(CARGO) build --release --locked

probe: compiled install
	@$(INSTALL) ./calibration

check-probe:
	@$(MAKE) --no-print-directory crate
	@$(MAKE) --no-print-directory measured

# Other tests mostly wait, for labs, ends of time, processes, and Python's run beside them.
crate: linted
	$(LINTED_TESTS) --lib
	$(TESTS) --quiet -- --skip measured:: --test-threads=6

# All of the crate, the other tests too.
linted: toolchain
	$(CARGO) fmt --check
	$(LINTED_TESTS) --tests --no-run

tests-compiled: probe
	$(TESTS) --quiet --no-run

# Tests that want the machine for themselves.
measured: toolchain
	$(TESTS) measured::

# Ignored tests of Rust that take minutes, the benchmarks, and the long tests of Python; nothing else may run. Each part
# runs even if another fails, and can be run by itself: make measure-bounds.
BENCHMARKS := speed accuracy contradictions bounds recommend systems mutants
measure: probe develop
	@$(MAKE) --no-print-directory --keep-going -j1 measure-crate $(BENCHMARKS:%=measure-%) measure-alone measure-pytest

measure-crate: toolchain
	$(TESTS) --no-fail-fast -- --ignored --nocapture --test-threads=1

measure-accuracy: OPTIONS := --most 40
$(BENCHMARKS:%=measure-%): measure-%: develop
	$(BIN)/python -m benchmarks.$* $(OPTIONS)

measure-alone: probe develop
	$(BIN)/python -m pytest -m 'alone and long'

measure-pytest: probe develop
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -m '(hypothesis or sampled or long) and not alone' --numprocesses 2

# What measures in Python, with nothing beside it.
alone: develop
	$(BIN)/python -m pytest -m 'alone and not long'

# The rest on both processors, file by file, the longest first; the third worker computes while another waits for a
# process, a network or a page.
pytest: develop
	$(BIN)/python -m pytest -m 'not alone and not long' --numprocesses 3 --dist loadfile --no-loadscope-reorder

check: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@! command -v cargo >/dev/null || { $(CARGO) fmt; }

docs: develop
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf $(VENV) build calibration/target dist site *.egg-info .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
