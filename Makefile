# make certify: certify the installed transformers.   make test: the test suite.   make lint: the static checks.
# All three do their own set-up on a fresh machine with Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two threads make calls on small tensors 10 to 50 times slower than one.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: setup certify test lint nightly clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "specproof needs Python 3.11 or newer; say which with: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,transformers]'
	@touch $@

certify: setup
	$(BIN)/specproof certify transformers --json certificates/transformers.json

test: setup
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

# The night's work: what CI leaves out for its length, a certificate with 64 times the draws, the mutants, and the benchmark. The
# seed is the date, or given (make nightly SEED=7), and stands in the certificate; counts add up over nights in the history.
DEVICE ?= $(shell nvidia-smi >/dev/null 2>&1 && echo cuda || echo cpu)
SEED ?= $(shell date +%Y%m%d)
NIGHT = certificates/nightly-$(SEED)

nightly: setup
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m nightly
	@[ $(DEVICE) = cpu ] && echo "no GPU: its tests are left out" || $(BIN)/python -m pytest -s -m gpu
	$(BIN)/specproof certify transformers --evidence nightly --seed $(SEED) --history certificates/history.json \
		--json $(NIGHT)/transformers.json --html $(NIGHT)/transformers.html
	$(BIN)/specproof mutants --json $(NIGHT)/mutants.json
	$(BIN)/specproof bench verify --device $(DEVICE) --json $(NIGHT)/bench.json

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory .links
	PYTHONPATH=.links $(BIN)/lint-imports
	MYPYPATH=.links $(BIN)/mypy -p specproof

# Type checkers and the import linter cannot follow the package mapping of an editable install; links can be followed.
.PHONY: .links
.links:
	@rm -rf .links && mkdir -p .links/specproof
	@for entry in tools/*; do ln -s "../../$$entry" .links/specproof/; done
	@for folder in reference fast properties integration; do ln -s "../../$$folder" .links/specproof/; done

clean:
	rm -rf $(VENV) .links certificates .mypy_cache .ruff_cache .pytest_cache
