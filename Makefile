# Everything a person or CI needs, in one .venv that each target fills once. `make` alone lists the targets.
# Works with GNU make 3.81, which macOS has: each line of a recipe is a shell of its own.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.SILENT:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
export PIP_ROOT_USER_ACTION := ignore
# uv then trusts what pip trusts, such as a company's own certificate authority.
export UV_SYSTEM_CERTS ?= true
# What is compiled is kept: the tests start many Pythons.
unexport PYTHONDONTWRITEBYTECODE

# Python to make .venv with (default: the first suitable one): make PYTHON=…
PYTHON ?=
# Worker processes for the tests: one more than there are cores, since many tests wait for a clock or a child.
JOBS ?= $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')
# Mutated streams or texts of each format; MINUTES=… gives a time instead.
RUNS ?= 100000
MINUTES ?=
# What `make test LOWEST=1` runs: a part that touches every dependency.
LOWEST_TESTS := test_architecture.py test_corpus.py test_extras.py test_packaging.py test_signing.py test_telemetry.py \
	test_transport.py test_sdk_object_faults.py agent/test_asked_like_sdks.py agent/test_loop.py agent/test_wires.py \
	approval/test_shell.py tools cli/test_cli_app.py cli/test_cli_decode.py cli/test_cli_helping.py cli/test_cli_output.py \
	tui/test_prompt.py tui/test_whole_chat.py over_mcp/test_mcp_connection.py over_mcp/test_mcp_lines.py over_mcp/test_mcp_serving.py \
	durable/test_durable_runs.py local/test_engine.py builtin/test_web.py cli/test_mcp_trust.py test_moved_histories.py \
	providers/test_bedrock_request.py testing/test_scripted.py

.PHONY: help setup run test test-all check bench fuzz figures docs lock clean

help: ## This list
	grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

# Checked each time: .venv may be of another Python than asked for, or of a checkout that was moved.
$(VENV)/.made: FORCE
	sh scripts/make_venv.sh $(VENV) '$(PYTHON)'

FORCE:

$(VENV)/.run: $(VENV)/.made requirements/run.txt requirements/build.txt pyproject.toml
	echo "Installing Toolwire into .venv (once, about a minute) …"
	$(PIP) install -r requirements/build.txt -r requirements/run.txt
	$(PIP) install --no-build-isolation --no-deps -e .
	: Relative, hence ASCII: before Python 3.13, a .pth file is read in the encoding of the locale, which may be C.
	[ $(VENV) != .venv ] || for pth in .venv/lib/python*/site-packages/*_toolwire.pth; do echo ../../../../src > "$$pth"; done
	touch $@

$(VENV)/.test: $(VENV)/.run requirements/test.txt
	echo "Installing what the tests need (once, about a minute) …"
	$(PIP) install -r requirements/test.txt
	touch $@

# MCP servers that exist for Node.js alone; where there is none, their tests say that they are skipped.
$(VENV)/.node: $(VENV)/.made tests/over_mcp/package-lock.json
	command -v node >/dev/null && command -v npm >/dev/null || exit 0; \
	echo "Installing MCP servers for the tests (once, some seconds) …"; \
	mkdir -p $(VENV)/node && cp tests/over_mcp/package.json tests/over_mcp/package-lock.json $(VENV)/node \
		&& (cd $(VENV)/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) \
		&& touch $@ || echo "They cannot be installed; their tests are skipped."

# The lower bounds of pyproject.toml, in an environment of their own. The SDKs emit warnings when first compiled.
$(VENV)/lowest/.made: $(VENV)/.made requirements/build.txt pyproject.toml
	echo "Installing the oldest supported dependencies into .venv/lowest (once, under a minute) …"
	$(PIP) install uv
	$(BIN)/python -m venv $(VENV)/lowest
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python $(VENV)/lowest/bin/python --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
		pyproject.toml --all-extras --group test -c requirements/build.txt -o $(VENV)/lowest/requirements.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)/lowest/bin/python -r requirements/build.txt -r $(VENV)/lowest/requirements.txt
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python --no-build-isolation --no-deps -e .
	touch $@

$(VENV)/.bench: $(VENV)/.run requirements/bench.txt
	echo "Installing what the benchmarks need (once, under a minute) …"
	$(PIP) install -r requirements/bench.txt
	touch $@

# Each is optional: what cannot be installed is a row that says so, and is tried again the next time.
$(VENV)/peers/.made: $(VENV)/.made requirements/peers.txt
	echo "Installing the libraries to compare with into an environment of their own (once, about a minute) …"
	$(BIN)/python -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip -qq --disable-pip-version-check install -r requirements/peers.txt && touch $@ \
		|| echo "Some of them cannot be installed; their rows will say so."

# Containers often run as a user without a home folder that can be written.
ifeq ($(XDG_CACHE_HOME)$(shell cd 2>/dev/null && { test -w .cache || { test ! -e .cache && test -w .; }; } && echo writable),)
setup run: export TOOLWIRE_CACHE ?= $(abspath $(VENV))/cache
endif

setup: $(VENV)/.run ## Install everything for `make run`, the embedded model too (once, two to three minutes)
	$(BIN)/toolwire local install

run: setup ## Start the chat, with a small model on this machine or your provider if a key is set; without a terminal, show a demo
	if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/toolwire chat; fi; \
	echo "The chat needs a terminal, and there is none here. Showing a demo instead." 2>/dev/null || true; \
	exec $(BIN)/toolwire demo

ifdef LOWEST
test: $(VENV)/lowest/.made ## Run the tests (about five minutes on two cores; LOWEST=1: a part of them, on the oldest dependencies)
	echo "Testing on the oldest supported dependencies (about two minutes) …"
	$(VENV)/lowest/bin/python -m pytest -n $(JOBS) --dist loadgroup -m "not figures and not thorough" -q $(addprefix tests/,$(LOWEST_TESTS))
else
test: $(VENV)/.test
	echo "Testing (about five minutes) …"
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not figures and not thorough" -q
endif

test-all: $(VENV)/.test $(VENV)/.node $(VENV)/.bench ## Run all tests, the thorough ones too: large counts, the embedded model, PostgreSQL, Node.js (about ten minutes)
	echo "Running all tests (about ten minutes) …"
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not figures" -q

check: $(VENV)/.test $(VENV)/.bench ## Format, lint and strict types (under a minute)
	echo "Checking format, lint and types (under a minute) …"
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.test $(VENV)/.bench $(VENV)/peers/.made ## Speed and memory: ours, the floor, the SDKs and other libraries, into docs/performance.md (about ten minutes)
	echo "Measuring (about ten minutes; leave the machine alone meanwhile) …"
	$(BIN)/python -m bench.speed

fuzz: $(VENV)/.test ## Mutated streams and texts through the readers: RUNS=100000 of each format, a tenth of a family, or MINUTES=… (about twenty minutes)
	echo "Fuzzing (about twenty minutes; less with RUNS=… or MINUTES=…) …"
	$(BIN)/python -m bench.fuzz $(if $(MINUTES),--minutes $(MINUTES),--runs $(RUNS))

figures: $(VENV)/.test $(VENV)/.node $(VENV)/.bench ## The heavy proofs, into docs/reliability*.md (about an hour and a half)
	echo "Obtaining the figures (about an hour and a half) …"
	$(BIN)/python -m pytest -n $(JOBS) -m figures -q
	$(BIN)/python -m bench.figures
	$(BIN)/python -m bench.trust
	$(BIN)/python -m bench.durable
	$(BIN)/python -m bench.chat.streaming

docs: $(VENV)/.test ## Write the generated parts of docs/ anew, build the site into build/site and check all of it (under a minute)
	echo "Writing the generated pages, building build/site and checking (under a minute) …"
	$(BIN)/python -m scripts.docs
	$(BIN)/python -m scripts.docs_site
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_docs_site.py

lock: compile := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --no-annotate
lock: $(VENV)/.made ## Pin the newest versions anew (needs the network)
	$(PIP) install uv
	printf 'hatchling>=1.27\neditables>=0.5\n' | $(compile) - -o requirements/build.txt
	$(compile) pyproject.toml --extra chat --extra local --extra bedrock --extra telemetry --extra mcp --extra durable --group test -o requirements/test.txt
	$(compile) pyproject.toml --extra chat --extra local --extra bedrock --extra telemetry --extra mcp --extra durable -c requirements/test.txt -o requirements/run.txt
	$(compile) pyproject.toml --extra chat --extra local --extra bedrock --extra telemetry --extra mcp --extra durable --group bench -c requirements/test.txt -o requirements/bench.txt
	$(compile) pyproject.toml --group peers -o requirements/peers.txt

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -exec rm -rf {} +
