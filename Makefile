# Every target sets itself up: the first run makes .venv and installs into it, later runs start at once.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help install compare market test promises test-deployment test-flower-versions test-market lint types docs bench figures check data clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 24

install: $(VENV)/.installed ## the program, into .venv

compare: install ## the main comparison, on data that comes with the package
	@$(BIN)/coterie compare

market: $(VENV)/.served ## the marketplace with a demo running, in the browser
	@$(BIN)/coterie market serve --demo

test: $(VENV)/.tested data ## all tests
	@$(BIN)/python -m pytest

promises: $(VENV)/.tested data ## the promises in full: every method and seed, hundreds of kills, 10,000 rounds: half an hour
	@COTERIE_PROMISES=full $(BIN)/python -m pytest -rP tests/promises tests/experiments/test_resume.py tests/experiments/test_every_method.py tests/cli/test_bad_input.py

test-deployment: $(VENV)/.tested ## a real federation of Flower's processes, after the guide: minutes
	@$(BIN)/python -m pytest -m deployment tests/flower

test-flower-versions: $(VENV)/.tested ## Flower's tests with its lowest, a middle and the newest version
	@scripts/test-flower-versions $(VENV)

test-market: $(VENV)/.tested ## the market's promises at full size, on both databases: an hour
	@COTERIE_MONEY_OPERATIONS=100000 COTERIE_CRASH_POINTS=all COTERIE_DOOR_REQUESTS=10000 COTERIE_MARKETS=10000 $(BIN)/python -m pytest tests/service tests/market

lint: $(VENV)/.tested ## style and import layers
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo

types: $(VENV)/.tested ## mypy, strict
	@$(BIN)/mypy

docs: $(VENV)/.tested ## run every example in README and docs
	@$(BIN)/python -m pytest tests/test_docs.py

bench: install ## the speed claims, measured here
	@$(BIN)/coterie bench

figures: install data ## the papers' tables and figures: hours
	@$(BIN)/coterie reproduce --all

check: lint types test ## what a change must pass

data: install ## FashionMNIST, if it can be had
	@$(BIN)/coterie data get fashion-mnist --quiet || echo "FashionMNIST cannot be had here: tests that need it are skipped."

clean: ## forget the installation
	rm -rf $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt scripts/install
	@scripts/install "$(PYTHON)" $(VENV) . && touch $@

$(VENV)/.served: $(VENV)/.installed
	@$(BIN)/python -c "import fastapi, sqlalchemy, alembic, uvicorn" 2>/dev/null || scripts/install "$(PYTHON)" $(VENV) ".[service]"
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	@scripts/install "$(PYTHON)" $(VENV) ".[dev]" && touch $@
