# Every target builds .venv by itself; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Processes that share the tests; each may start a server of its own.
TEST_WORKERS ?= 2
TEST_ARGS ?=
# The real orders, read from the data folder beside the checkout when it is there.
ORDERS ?= ../shared/data/marketplace/order_items.csv
DEMO_ARGS ?=
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv demo up test soak check format bench docs services lock clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## build .venv from requirements.lock (quick the second time)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Lastro needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "Could not make $(VENV); on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
