# Every target builds .venv by itself; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Processes that share the tests; each may start a server of its own.
TEST_WORKERS ?= 2
TEST_ARGS ?=
# The real orders and seasons, read from the data folder beside the checkout when it is there.
ORDERS ?= ../shared/data/marketplace/order_items.csv
MATCHES ?= $(wildcard ../shared/data/football/*.csv)
DEMO_ARGS ?=
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: replaced help venv demo up test soak check format bench docs services lock clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## build .venv from requirements.lock (quick the second time)

# Newer than the stamp, or not there: somebody replaced the virtualenv or the editable install, so build it again.
PLACE := $(VENV)/pyvenv.cfg
INSTALL := $(wildcard $(VENV)/lib/python3*/site-packages/lastro-*.dist-info)

$(READY): requirements.lock pyproject.toml $(wildcard $(PLACE)) $(or $(INSTALL),replaced)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Lastro needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "Could not make $(VENV); on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## replay real orders and matches on an embedded PostgreSQL 18 and prove the books
	$(BIN)/lastro demo $(if $(wildcard $(ORDERS)),--orders $(ORDERS)) $(addprefix --matches ,$(MATCHES)) $(DEMO_ARGS)

up: $(READY) ## an embedded PostgreSQL 18, migrated, with its workers
	$(BIN)/lastro up

test: $(READY) ## every test but the soak; LASTRO_TEST_REQUIRE=firebird,libreoffice,mariadb,nats,pgbouncer,rabbitmq refuses to skip
	$(BIN)/python -m pytest -m "not soak and not house" -n $(TEST_WORKERS) --dist loadfile $(TEST_ARGS)

soak: $(READY) ## the tests that take minutes: memory over a million posts, long races
	$(BIN)/python -m pytest -m soak --timeout 3600 $(TEST_ARGS)

check: $(READY) ## format, lint, types, import contract, SQL, dependencies, house rules
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy src tests/house $(wildcard tests/typing)
	$(BIN)/lint-imports --no-logo
	$(BIN)/sqlfluff lint --nocolor --disable-progress-bar --processes 0 src
	$(BIN)/deptry --no-ansi .
	$(BIN)/python -m pytest -m house --quiet tests/house

format: $(READY) ## write what `make check` would ask for, where a tool can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure against this machine's own limit; writes bench/results and the table in docs
	$(BIN)/python -m bench $(BENCH_ARGS)

docs: $(READY) ## check the docs: links lead somewhere, every block runs and prints what it says
	$(BIN)/python -m pytest --quiet tests/house/test_docs.py tests/docs

# What the full matrix needs beside the wheel's PostgreSQL; on Debian, as root.
services: ## install MariaDB and PgBouncer (Debian, root)
	@.ci/services

# A throw-away virtualenv makes the lock, so that the tool that locks isn't locked itself.
# No index, header or path is written into it: any registry may serve it.
LOCK_ARGS ?=
lock: ## rewrite requirements.lock from pyproject.toml (LOCK_ARGS=--upgrade for newer versions)
	@locker=$$(mktemp -d) && trap 'rm -rf "$$locker"' EXIT \
	  && $(PYTHON) -m venv "$$locker" \
	  && "$$locker/bin/python" -m pip install --quiet --disable-pip-version-check uv \
	  && "$$locker/bin/uv" pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	       --all-extras --group dev --generate-hashes \
	       --no-header --no-emit-index-url --no-emit-find-links \
	       $(LOCK_ARGS) --output-file requirements.lock

clean: ## remove .venv and what the tools left behind; data is kept
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests $(wildcard bench) -name __pycache__ -type d -prune -exec rm -rf {} +
