# Every target creates and uses .venv in this folder; nothing needs to be installed by hand.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK ?= requirements.lock
STAMP := $(VENV)/.ready
KERNELS := $(shell find src -name "*.pyx" -o -name "*.pxd")
DOCS_STAMP := $(VENV)/.docs-ready
# Compiled tests are kept: without this, each process of a run would compile all their assertions, 15 seconds long.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo quick test docs package matrix container browser java postgres lint format types bench scale synthetic reproduce real audit fuzz interrupts scan sbom lock clean

demo: $(STAMP)  ## cluster an example: centres, sizes, rules, privacy statement, and a report to open in a browser
	rm -rf demo-output
	$(BIN)/dpm demo --out demo-output

quick: $(STAMP)  ## run the tests that catch most mistakes, of both distributions: all that are not marked slow, a minute
	$(BIN)/python -m pytest -n auto -m "not slow"

test: $(STAMP)  ## run the whole test suite, of both distributions
	$(BIN)/python -m pytest -n auto

# Pages are read by one process: notebooks take most of the time, and each has a process of its own.
docs: $(DOCS_STAMP)  ## build the documentation site into docs/_build/html, run its notebooks, and check its links
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -d docs/_build/doctrees . docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

package: $(STAMP)  ## build wheel and sdist into dist/, look into them, and try the wheel in an empty environment: a minute or two
	$(BIN)/python tests/campaigns/package.py

matrix: $(STAMP)  ## "make quick" on every supported Python that is here, and with the lowest versions of dependencies; ONLY=lowest for one
	$(BIN)/python tests/campaigns/matrix.py $(ONLY)

container:  ## build the container image "dpmondrian" with podman or docker; says so where neither is running
	for builder in podman docker; do if $$builder info >/dev/null 2>&1; then $$builder build --tag dpmondrian --file Containerfile . && \
	  exec $$builder run --rm --network none dpmondrian --version; fi; done; echo "No image was built: neither podman nor docker runs here."

browser:  ## Chromium for the tests of the report, from Debian's packages; without it these tests are skipped
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	  chromium chromium-driver >/dev/null; } || echo "No Chromium here: tests in a browser will be skipped."

java:  ## Java for the tests on Spark, from Debian's packages; without it these tests are skipped
	version=$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p'); \
	  test "$${version:-0}" -ge 17 || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	  openjdk-17-jre-headless >/dev/null; } || echo "No Java 17 or newer here: tests on Spark will be skipped."

postgres:  ## PostgreSQL for the tests that read from a server, from Debian's packages; without it these tests are skipped
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	  postgresql >/dev/null; } || echo "No PostgreSQL here: tests that read from a server will be skipped."

lint: $(STAMP)  ## check style
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

format: $(STAMP)  ## bring the code into style
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

types: $(STAMP)  ## check types
	$(BIN)/mypy

bench: $(STAMP)  ## quality, speed and memory against KMeans (needs the data sets, see lab/src/dpmondrian_lab/benchmarks/README.md)
	status=0; $(BIN)/python -m dpmondrian_lab.benchmarks.quality || status=1; $(BIN)/python -m dpmondrian_lab.benchmarks.speed && exit $$status

scale: $(STAMP)  ## time and memory from 1e5 to 1e7 rows on every engine, beside KMeans and reading the file: an hour or more
	$(BIN)/python -m dpmondrian_lab.benchmarks.scale

reproduce: $(STAMP)  ## the paper's evaluation in small, into results-quick (see results/README.md)
	$(BIN)/dpm reproduce all --quick

synthetic: $(STAMP)  ## an environment for MST and AIM, of which KMeans on synthetic data is compared with DPM; without it they are left out
	$(BIN)/python -m dpmondrian_lab.peers.synthetic

real: $(STAMP)  ## what a practitioner would do instead, on real tables and a suite, into results/real: a day (needs the data, see lab/README.md)
	$(BIN)/dpm reproduce real

audit: $(STAMP)  ## try to refute every promise, ours and published ones, into results/audit: a quarter of an hour
	$(BIN)/dpm audit --out results/audit

fuzz: $(STAMP)  ## try odd inputs, other ones in every run: EXAMPLES of each kind, an hour or so; "make test" tries a few
	DPMONDRIAN_FUZZ=$(EXAMPLES) $(BIN)/python -m pytest -n auto tests/fuzz tests/privacy/test_neighbours.py::test_search_for_a_pair_that_breaks_the_promise
fuzz: EXAMPLES ?= 3000

interrupts: $(STAMP)  ## interrupt real processes at random moments, RUNS of them: half an hour or so
	$(BIN)/python tests/campaigns/interrupts.py --runs $(RUNS)
interrupts: RUNS ?= 500

# Without --strict, pip-audit passes when its service cannot be reached: "could not be audited" is no finding for it.
scan: $(STAMP)  ## look the locked dependencies up in the database of known vulnerabilities; fails where that is out of reach
	@$(BIN)/uv tool run --quiet --from "pip-audit>=2.9" pip-audit --strict --requirement requirements.lock --require-hashes \
	  --disable-pip --progress-spinner off --timeout 15 || { echo "Not clean: either a dependency has a known vulnerability, or \
	the database could not be asked and nothing was scanned; see above." >&2; exit 1; }

sbom: $(STAMP)  ## list the locked dependencies with their hashes, as CycloneDX, in sbom.json
	$(BIN)/uv tool run --quiet --from "cyclonedx-bom>=7" cyclonedx-py requirements requirements.lock \
	  --pyproject pyproject.toml --mc-type library --output-reproducible --output-file sbom.json

clean:
	rm -rf $(VENV) .matrix dist docs/_build .pytest_cache .mypy_cache .ruff_cache demo-output lab/src/dpmondrian_lab/benchmarks/output

lock:  ## choose new versions of all dependencies
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --group dev --upgrade \
	  pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --group docs --upgrade \
	  --constraints requirements.lock -o docs/requirements.lock

# uv installs the locked versions, checked by hash; where it is missing it is taken from PyPI into the environment itself.
# The kernels are compiled here, which needs a C compiler.
$(STAMP): pyproject.toml lab/pyproject.toml $(LOCK) setup.py $(KERNELS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r $(LOCK)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e . -e lab
	touch $@

$(DOCS_STAMP): $(STAMP) docs/requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r docs/requirements.lock
	touch $@
