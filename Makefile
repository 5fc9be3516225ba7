# Two commands: `make run` and `make test`. The rest is for developers.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test quick check browser bench docs demo screenshots study lock

run: .venv/.installed
	$(BIN)/streamlit run app.py

test: .venv/.developed browser
	$(BIN)/python -m pytest

# Numbers and words, within two minutes: no browser, no store, no study, no files.
quick: .venv/.developed
	$(BIN)/python -m pytest tests/eap_core/base tests/eap_core/scoring tests/eap_core/analysis \
		tests/eap_core/review tests/eap_core/health tests/ui tests/test_layers.py

check: .venv/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.developed
	$(BIN)/python -m benchmarks

docs: .venv/.developed
	$(BIN)/python -m tools.make_cli

# The images of the demo and their features, which lie in assets/.
demo: .venv/.developed
	$(BIN)/python -m tools.make_demo

# The paper's experiment on a folder of data sets: make study DATA=folder OUT=results SEEDS=5
DATA ?= ../shared/data/adbench
OUT ?= results
SEEDS ?= 5
study: .venv/.installed
	$(BIN)/python -m eap_core study --data "$(DATA)" --out "$(OUT)" --seeds $(SEEDS)

screenshots: browser
	$(BIN)/python -m tools.make_screenshots

browser: .venv/.developed
	sh tests/browser/install.sh $(BIN)/playwright

# Resolved for every platform at once. CUDA's packages are left to pip, which takes them only with
# a build of torch that wants them.
lock: .venv/.developed
	$(BIN)/uv pip compile pyproject.toml $(LOCK) | $(NO_CUDA) > requirements.txt.new
	mv requirements.txt.new requirements.txt
	$(BIN)/uv pip compile pyproject.toml --group dev -c requirements.txt $(LOCK) \
		| $(NO_CUDA) > requirements-dev.txt.new
	mv requirements-dev.txt.new requirements-dev.txt
LOCK := --all-extras --universal --python-version 3.11 --no-annotate --no-header --no-emit-index-url --upgrade -q
NO_CUDA := grep -vE '^(nvidia-|cuda-|triton)'

.venv/.installed: requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check -q -r requirements.txt
	touch $@

.venv/.developed: requirements-dev.txt requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check -q -r requirements-dev.txt
	touch .venv/.installed $@
