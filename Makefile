# `make` alone lists what can be done. Lines with two hashes are that list.
#
# The commands are here and nowhere else: tox runs these same targets in
# environments of its own, and sets BIN; without it there is one
# environment, .venv, which comes first in every rule.

PYTHON ?= python3
ARGS ?=

ifdef BIN
ENVIRONMENT :=
else
BIN := $(CURDIR)/.venv/bin
ENVIRONMENT := environment
endif
RUN := $(BIN)/python -m
export PATH := $(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help
help:  ## list what can be done
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' \
	    $(MAKEFILE_LIST)
	@echo "Variables: PYTHON (makes .venv; now $(PYTHON)), KUBECONFIG (use"
	@echo "that cluster and start none), ARGS (added to pytest and the tools)."

.PHONY: environment
environment:  ## make .venv, or bring it up to date; every target does it
	@$(PYTHON) tools/environment.py

# -- The product at work ------------------------------------------------------

.PHONY: demo
demo: $(ENVIRONMENT)  ## a Cluster API cluster through its whole life
	@$(RUN) tools.demo $(ARGS)

.PHONY: bench
bench: $(ENVIRONMENT)  ## measure against kubectl, Helm and a Go client
	@$(RUN) tools.bench $(ARGS)

.PHONY: bench-tacker
bench-tacker: $(ENVIRONMENT)  ## measure through Tacker, against its driver
	@$(RUN) tools.bench_tacker $(ARGS)

.PHONY: csar
csar: $(ENVIRONMENT)  ## build the CSARs of the samples, with their hashes
	@$(RUN) tools.csar $(ARGS)

# -- The local plane ----------------------------------------------------------

.PHONY: plane
plane: $(ENVIRONMENT)  ## build the local control plane if needed, start it
	@$(RUN) tools.plane up $(ARGS)

.PHONY: plane-down
plane-down: $(ENVIRONMENT)  ## stop the local control plane
	@$(RUN) tools.plane down $(ARGS)

.PHONY: plane-test
plane-test: $(ENVIRONMENT)  ## the plane's own tests
	@$(RUN) pytest tests/plane --need cycle $(ARGS)

# -- A management cluster -----------------------------------------------------

.PHONY: management-package
management-package: $(ENVIRONMENT)  ## the package that brings Cluster API
	@$(RUN) tools.management package $(ARGS)

# -- A Tacker on this machine --------------------------------------------------

.PHONY: tacker
tacker: $(ENVIRONMENT)  ## start a real Tacker with the project in it
	@$(RUN) tools.tacker up $(ARGS)

.PHONY: tacker-down
tacker-down: $(ENVIRONMENT)  ## stop that Tacker
	@$(RUN) tools.tacker down $(ARGS)

# -- Tests of Tacker ----------------------------------------------------------

.PHONY: upstream
upstream: $(ENVIRONMENT)  ## Tacker's own functional tests, with a table
	@$(RUN) tools.upstream $(ARGS)

# -- The suites of tests ------------------------------------------------------
#
# Tests that need a cluster use the one that KUBECONFIG names, else the local
# plane; they start it when it does not run, and then stop it at the end.

# Tests on a cluster mostly wait, so they begin first; those of the unit suite
# fill what they leave. The tests of a file stay together, in their order.
.PHONY: test
test: $(ENVIRONMENT)  ## unit, contracts and functional, with a plane
	@$(RUN) pytest tests/functional tests/contracts tests/unit \
	    samples/handlers --numprocesses 4 --dist loadfile \
	    --no-loadscope-reorder $(ARGS)

.PHONY: unit
unit: $(ENVIRONMENT)  ## the tests that need nothing
	@$(RUN) pytest tests/unit samples/handlers $(ARGS)

.PHONY: contracts
contracts: $(ENVIRONMENT)  ## the same behaviours on the fake and a real server
	@$(RUN) pytest tests/contracts $(ARGS)

.PHONY: functional
functional: $(ENVIRONMENT)  ## what needs a real API server
	@$(RUN) pytest tests/functional $(ARGS)

.PHONY: faults
faults: $(ENVIRONMENT)  ## kills and faults at every request, with a table
	@$(RUN) pytest tests/faults --numprocesses 3 --dist worksteal $(ARGS)

# Apart from the time that the plane takes to start.
MINUTES ?= 60

.PHONY: soak
soak: $(ENVIRONMENT)  ## random operations, kills, faults; MINUTES=60
	@$(RUN) tools.soak --minutes $(MINUTES) $(ARGS)

.PHONY: e2e
e2e: $(ENVIRONMENT)  ## through the REST API of a real Tacker
	@$(RUN) pytest tests/e2e --numprocesses 3 --dist loadfile $(ARGS)

.PHONY: management
management: $(ENVIRONMENT)  ## Cluster API as a package, on a real node: root
	@$(RUN) pytest tests/management --need root $(ARGS)

.PHONY: smoke
smoke: $(ENVIRONMENT)  ## the few of e2e that every change must pass
	@$(RUN) pytest tests/e2e -m smoke $(ARGS)

.PHONY: suites
suites: $(ENVIRONMENT)  ## all suites in the background; ARGS=status, stop
	@$(RUN) tools.suites $(ARGS)

# -- What must pass before a change is offered --------------------------------

CHECKS := style types imports requirements prose docs notes dist-test

.PHONY: check
check: $(ENVIRONMENT)  ## all of the following, none of which needs a network
	@$(MAKE) --no-print-directory --keep-going --jobs=2 \
	    --output-sync=target BIN=$(BIN) $(CHECKS)
	@echo "check: all of $(CHECKS) passed."

.PHONY: style
style: $(ENVIRONMENT)  ## ruff's rules and format, hacking's rules
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) flake8

.PHONY: format
format: $(ENVIRONMENT)  ## let ruff fix what it can
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

.PHONY: types
types: $(ENVIRONMENT)  ## mypy, strict
	$(RUN) mypy

.PHONY: imports
imports: $(ENVIRONMENT)  ## the direction of imports
	$(BIN)/lint-imports --no-logo

.PHONY: prose
prose: $(ENVIRONMENT)  ## the terms of the field in texts, and spelling
	git ls-files -z | xargs -0 $(BIN)/codespell
	$(RUN) tools.prose

.PHONY: requirements
requirements: $(ENVIRONMENT)  ## each requirement has a row, each marker too
	@$(RUN) tools.requirements $(ARGS)

.PHONY: docs
docs: $(ENVIRONMENT)  ## the documentation, warnings as errors
	$(RUN) sphinx -q -W --keep-going -b html doc/source doc/build/html
	@echo "docs: doc/build/html/index.html"

.PHONY: recordings
recordings: $(ENVIRONMENT)  ## run the tutorial and the task pages, on the plane
	@$(RUN) tools.pages $(ARGS)

.PHONY: sample-config
sample-config: $(ENVIRONMENT)  ## the configuration file's sample, from options
	$(BIN)/oslo-config-generator --namespace tacker_k8s_cr \
	    --output-file etc/tacker-k8s-cr.conf.sample

.PHONY: schemas
schemas: $(ENVIRONMENT)  ## the JSON schemas of the commands' output, from code
	@$(RUN) tools.schemas

.PHONY: notes
notes: $(ENVIRONMENT)  ## the release notes' form
	@if [ "$$(git rev-parse --is-shallow-repository 2>&1)" = false ]; \
	then $(BIN)/reno -q lint . && echo "notes: well formed"; \
	else echo "notes: not looked at: reno needs git's whole history"; fi

.PHONY: dist-test
dist-test: $(ENVIRONMENT)  ## what sdist and wheel hold
	$(RUN) pytest -q tests/dist

# -----------------------------------------------------------------------------

.PHONY: clean
clean:  ## remove .venv and everything that was built in this folder
	rm -rf .venv .tox build dist doc/build *.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf .import_linter_cache .coverage
	rm -f AUTHORS ChangeLog RELEASENOTES.rst releasenotes/notes/reno.cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
