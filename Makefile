# SPDX-License-Identifier: GPL-2.0-or-later
# What people and machines type. Every target sets up what it needs and is safe to repeat.
.DEFAULT_GOAL := help
.PHONY: help run history test long quick faults hosts check format lock benchmark simulate alarms site wheels clean

PYTHON ?= python3
# Ubuntu's archive has no Debian kernel: there the main experiment takes the machine's own.
KERNEL ?= $(shell grep -qs '^ID=ubuntu' /etc/os-release && echo host || echo debian:6.1)
KERNELS ?= debian:*
BIN := .venv/bin

help: ## Show this text
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: .venv/.run-ready ## Set everything up and run the main experiment
	$(BIN)/lsmeter run experiments/main.toml --kernel $(KERNEL)

history: .venv/.run-ready ## Measure every kernel of Debian's archives, and make a site of it: hours, resumable
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/history.sh "$(KERNELS)" build/history

test: .venv/.test-ready ## Set everything up, check the code and run the tests
	$(MAKE) check
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long"

long: .venv/.test-ready ## Run the tests that make test leaves out: minutes each
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long

quick: .venv/.test-ready ## Run the fast tests that need no guest: minutes
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/unit tests/statistics tests/contract \
		-m "not guest and not network and not build and not browser"

faults: .venv/.test-ready ## Inject every fault of the campaign: half an hour
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/faults --all-faults
	$(BIN)/python -m tests.faults.fuzz_protocol 1000000

hosts: .venv/.test-ready ## Change machines that guests stand for, and put all back: ten minutes, as root
	$(BIN)/python -m pytest tests/hosts --hosts

check: .venv/.test-ready ## Lint, format and type checks: what CI and pre-commit run
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files -z 'probe/*.[ch]' 'bpf/*.[ch]' 'plugin/*.[ch]' | xargs -0 $(BIN)/clang-format --dry-run -Werror
	git ls-files -z '*.sh' .ci/run | xargs -0 $(BIN)/shellcheck

format: .venv/.test-ready ## Format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files -z 'probe/*.[ch]' 'bpf/*.[ch]' 'plugin/*.[ch]' | xargs -0 $(BIN)/clang-format -i

benchmark: .venv/.run-ready ## Measure lsmeter itself against its targets
	$(BIN)/python bench/targets.py

simulate: .venv/.run-ready ## Coverage, alarms and power on simulated hosts, at length
	$(BIN)/python -m bench.simulate 10000 8 20 60

alarms: .venv/.run-ready ## The baseline against itself on this machine, 200 times over
	$(BIN)/python bench/alarms.py

site: .venv/.test-ready ## Build the documentation as a site: build/site/index.html
	$(BIN)/zensical build --clean --strict

wheels: .venv/.test-ready ## Build a wheel for x86-64 and one for arm64, the same bytes each time: build/wheels
	for arch in x86_64 arm64; do \
		LSMETER_WHEEL=$$arch $(BIN)/python -m hatchling build -t wheel -d build/wheels || exit; \
	done

lock: .venv/.test-ready ## Pin every dependency anew
	$(BIN)/uv pip compile -q --upgrade --generate-hashes --no-header --no-emit-index-url \
		--python-version 3.11 --extra build -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile -q --upgrade --generate-hashes --no-header --no-emit-index-url \
		--python-version 3.11 --extra build --extra dev -o requirements-dev.lock pyproject.toml

clean: ## Remove what was built here; the cache and the results stay
	rm -rf .venv build dist src/lsmeter/_bin
	$(MAKE) -C probe clean

.venv/.run-ready: scripts/setup.sh requirements.lock pyproject.toml $(wildcard probe/*.[ch] probe/*/*.[ch] bpf/*) plugin/markers.h
	PYTHON=$(PYTHON) scripts/setup.sh run

.venv/.test-ready: scripts/setup.sh requirements-dev.lock pyproject.toml $(wildcard probe/*.[ch] probe/*/*.[ch] bpf/*) plugin/markers.h
	PYTHON=$(PYTHON) scripts/setup.sh test
