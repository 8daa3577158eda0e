SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready
.DEFAULT_GOAL := help
# the suites start hundreds of processes, which would all compile the package again
export PYTHONDONTWRITEBYTECODE :=

# The sample of a day: the same date and seed choose the same tests.
export DAM_SYNC_DATE := $(or $(DATE),$(DAM_SYNC_DATE))
export DAM_SYNC_SEED := $(or $(SEED),$(DAM_SYNC_SEED),1)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SHARED := -n $(JOBS) --dist loadgroup --no-loadscope-reorder
SUITES := tests --ignore tests/benchmarks --ignore tests/house
# Tests flush their states to the disk as the product does, which costs least in memory: their files are in a folder
# there, if it has room for 4 GB, until they end.
ROOM := $(shell df -k /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')
IN_MEMORY := $(if $(ROOM),export TMPDIR=$$(mktemp -d -p $(ROOM) dam-sync-XXXXXX); chmod 755 "$$TMPDIR"; trap 'rm -rf "$$TMPDIR"' EXIT;)

.PHONY: help setup fmt check test test-more test-others test-all costs conformance sim sim-mutants fuzz e2e bench demo emulate reference assumptions release lock

help: ## lists these targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/' | expand -t 16

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("dam-sync needs Python 3.11 or newer; set PYTHON=…") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement ./requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(STAMP)

setup: $(STAMP) ## makes .venv with everything the other targets need

fmt: $(STAMP) ## formats and fixes what a tool can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(STAMP) ## format, lint, types and house rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy .ci/release.py
	$(BIN)/pytest -q tests/house

test: $(STAMP) ## the tests of the day, with every promise in them: make test DATE=2026-12-01 SEED=7
	$(IN_MEMORY) $(BIN)/pytest -q --part day $(SHARED) $(SUITES)

# The tests of pages are skipped where no Chromium is installed.
test-more: $(STAMP) ## what `make test` leaves to other days, more crashes, faults and fuzzed responses, and the tests of pages
	$(IN_MEMORY) DAM_SYNC_SIM=96 DAM_SYNC_SCHEDULES=60 DAM_SYNC_FUZZ=400 $(BIN)/pytest -q --part rest $(SHARED) $(SUITES)
	$(IN_MEMORY) DAM_SYNC_ALL=1 $(BIN)/pytest -q $(wildcard tests/e2e/*_in_browser.py)

test-others: $(STAMP) ## cases that neither of them runs: another eighth of e2e and simulation each day, a tenth of second readings
	$(IN_MEMORY) $(BIN)/pytest -q --part more $(SHARED) tests/conformance tests/simulation tests/e2e

test-all: $(STAMP) ## everything: all cases, pairs, points and faults; takes hours
	$(IN_MEMORY) DAM_SYNC_ALL=1 DAM_SYNC_SIM=2000 DAM_SYNC_SCHEDULES=500 DAM_SYNC_FUZZ=20000 $(BIN)/pytest -q $(SHARED) $(SUITES)

costs: $(STAMP) ## measures what each test costs, by which `make test` shares them out among days
	$(IN_MEMORY) DAM_SYNC_COSTS=1 $(BIN)/pytest -q -p tests.support.sample.cost_meter $(SHARED) $(SUITES)

conformance: $(STAMP) ## the service contract, over every service
	$(IN_MEMORY) DAM_SYNC_ALL=1 $(BIN)/pytest -q -n $(JOBS) tests/conformance

# With STORE=postgres the states are on a server that the tests start, and the suites of the store and of the services
# are run as well. `make test` runs a sample on it, which tests/simulation/test_on_postgres.py states.
sim: $(STAMP) ## crashes, faults and schedules of faults in virtual time: make sim N=10000 SEED=7 STORE=postgres
	$(IN_MEMORY) DAM_SYNC_ALL=1 DAM_SYNC_SIM=$(or $(N),2000) DAM_SYNC_SCHEDULES=$(or $(SCHEDULES),500) DAM_SYNC_STORE=$(or $(STORE),sqlite) $(BIN)/pytest -q -n $(JOBS) tests/simulation $(if $(filter postgres,$(STORE)),tests/store_contract tests/conformance)

sim-mutants: $(STAMP) ## the simulation must notice a safeguard that is taken away
	$(IN_MEMORY) DAM_SYNC_ALL=1 $(BIN)/pytest -q -n $(JOBS) tests/simulation/test_mutants.py

fuzz: $(STAMP) ## mutated answers of all services, and five times as many mapping files: make fuzz N=20000 SEED=1
	$(IN_MEMORY) DAM_SYNC_ALL=1 DAM_SYNC_FUZZ=$(or $(N),20000) $(BIN)/pytest -q -n $(JOBS) tests/fuzz

e2e: $(STAMP) ## whole runs over sockets, all pairs, with kills and resumes
	$(IN_MEMORY) DAM_SYNC_ALL=1 $(BIN)/pytest -q -n $(JOBS) --dist loadgroup tests/e2e

bench: $(STAMP) ## calls, memory and rates, with their budgets
	$(BIN)/pytest -q -s tests/benchmarks -m bench

demo: $(STAMP) ## migrates a generated library between two emulated tenants: make demo FROM=b TO=d CLUSTER=1
	$(BIN)/dam-sync demo --from $(or $(FROM),a_hypermedia) --to $(or $(TO),e_profiles)$(if $(CLUSTER), --workers 2)

emulate: $(STAMP) ## serves one emulated service: make emulate KIND=e_profiles
	$(BIN)/dam-sync emulate $(or $(KIND),a_hypermedia)

reference: $(STAMP) ## regenerates the tables in README.md and the help topics
	$(BIN)/python -m dam_sync.reference

assumptions: $(STAMP) ## the numbered guesses about each service
	$(BIN)/dam-sync emulate --assumptions

# The same commit gives the same files: dates in them are that of the commit.
release: $(STAMP) ## wheel, sdist, bill of materials, constraints and checksums in dist/, without the network
	rm -rf dist
	export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); \
	$(BIN)/hatchling build -d dist && $(BIN)/python .ci/release.py dist "$$(git describe --always --dirty)"

# For every platform and each Python that is supported. It names no index, so that a mirror serves as well as any other.
lock: $(STAMP) ## locks the newest packages that pyproject.toml allows into requirements.lock
	$(BIN)/uv --quiet --no-config pip compile pyproject.toml --all-extras --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-emit-package dam-sync-engine \
		--custom-compile-command 'make lock' --output-file requirements.lock > /dev/null
