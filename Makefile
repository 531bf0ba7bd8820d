# make certify: certify the installed transformers.   make test: the test suite.   make lint: the static checks.
# make nightly: what takes hours.   All of them do their own set-up on a fresh machine with Python 3.11 or newer.

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

# The night's work, kept in a folder of its date: what CI leaves out for its length, a certificate with 64 times the draws, the
# mutants, benchmarks, and generation with real models. The seed is the date, or given (make nightly SEED=7), and recorded; counts add
# up over nights in the history. A part that fails does not keep the others from running; the job fails at its end.
#   make nightly TARGET=folder DRAFT=folder    larger models by path; the family of small ones, built if need be, unless given
#   make nightly SCHEDULER=tcp://host:8786     the certificate on many machines
#   make nightly QUICK=1 FAMILY=tiny TESTS=tools    everything once, smaller
DEVICE ?= $(shell nvidia-smi >/dev/null 2>&1 && echo cuda || echo cpu)
SEED ?= $(shell date +%Y%m%d)
SUBJECT ?= transformers
FAMILY ?= full
BENCHMARK ?= humaneval
NIGHT = certificates/nightly-$(SEED)
NIGHT_PARTS = night-tests night-gpu night-certificate night-mutants night-bench night-models
EVIDENCE = $(if $(QUICK),quick,nightly)
SMALLER = $(if $(QUICK),--quick)
OWN = $(if $(TARGET),--target $(TARGET) --draft $(DRAFT))
.PHONY: night-record $(NIGHT_PARTS)

nightly: setup night-record
	@$(MAKE) --no-print-directory --keep-going $(NIGHT_PARTS) && echo "the night is in $(NIGHT)"

night-record:
	@mkdir -p $(NIGHT)
	@{ echo "seed $(SEED)"; echo "device $(DEVICE)"; echo "models $(if $(TARGET),$(TARGET) $(DRAFT),$(FAMILY))"; \
		echo "commit $$(git describe --always --dirty 2>/dev/null)"; nvidia-smi -L 2>/dev/null; $(BIN)/python -m pip freeze; \
	} > $(NIGHT)/night.txt

night-tests: night-record
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m nightly $(TESTS) \
		--hypothesis-seed $(SEED) --durations 30 --junitxml $(NIGHT)/tests.xml

night-gpu: night-record
	@[ $(DEVICE) = cpu ] && echo "no GPU: its tests are left out" || \
		$(BIN)/python -m pytest -s -m gpu --junitxml $(NIGHT)/gpu.xml

night-certificate: night-record
	$(BIN)/specproof certify $(SUBJECT) --evidence $(EVIDENCE) --seed $(SEED) --history certificates/history.json \
		--json $(NIGHT)/certificate.json --html $(NIGHT)/certificate.html $(if $(SCHEDULER),--scheduler $(SCHEDULER))
	$(BIN)/specproof judge $(NIGHT)/certificate.json

night-mutants: night-record
	$(BIN)/specproof mutants $(if $(QUICK),always_accept resample_from_target) --json $(NIGHT)/mutants.json

night-bench: night-record
	$(BIN)/specproof bench verify $(SMALLER) --device $(DEVICE) --json $(NIGHT)/bench-verify.json
	$(BIN)/specproof bench select $(SMALLER) --device $(DEVICE) --json $(NIGHT)/bench-select.json

night-models: night-record
	$(if $(TARGET),,$(BIN)/specproof zoo build --family $(FAMILY) --device $(DEVICE))
	$(BIN)/specproof study lossless --family $(FAMILY) $(OWN) --device $(DEVICE) --seed $(SEED) \
		$(if $(QUICK),--draws 2048) --json $(NIGHT)/lossless.json
	$(BIN)/specproof study spectr_gbv --family $(FAMILY) $(OWN) --device $(DEVICE) --seed $(SEED) $(SMALLER) \
		$(if $(TARGET),--benchmark $(BENCHMARK)) --json $(NIGHT)/spectr_gbv.json --picture $(NIGHT)/spectr_gbv.svg

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
