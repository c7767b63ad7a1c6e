# The commands of the project; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export CARGO_TERM_COLOR ?= auto

RUST_SOURCES := $(shell find crates -name target -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print) Cargo.toml Cargo.lock
# Everything that names a step prints it, so that a failure is found by the line above it.
say = @printf '\n== %s\n' '$(1)'

.PHONY: help setup optimized demo check test test-rust build-tests test-slow test-python test-linux-schedulers test-ffi tools kernel kernel-debug kernel-torture kernel-stock kernel-stock-short kernel-stock-debug reproduce lint lint-rust lint-python format docs reference figures figures-linux figures-usrsctp league questions validate disciplines package dist static deb playground random-torture fingerprints fuzz bench bench-suite how-far links-torture links-soak links-day bench-sweeps sweep-torture peers lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.built ## create .venv, install the locked dependencies, build the extension (four minutes)

# The interpreter, and what Debian splits off it.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make setup: needs Python 3.11 or newer as '$(PYTHON)'; name another with make PYTHON=…" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "make setup: needs Rust (cargo); see https://rustup.rs" >&2; exit 1; }
	@if ! $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "make setup: installing python3-venv"; apt-get update -qq && apt-get install -y -qq python3-venv; \
		else \
			echo "make setup: Python's venv is missing; on Debian: sudo apt-get install python3-venv" >&2; exit 1; \
		fi; \
	fi
	@echo "make setup: creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: requirements-dev.lock $(VENV)/.created
	@echo "make setup: installing Python packages (a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.built: $(VENV)/.installed pyproject.toml $(RUST_SOURCES)
	@echo "make setup: compiling the extension (three minutes at first)"
	@PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --profile extension --locked
	@touch $@

# The profile's raw form is that of the compiler's own LLVM, so llvm-profdata has to be of its version.
LLVM_VERSION = $(shell rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
PROFDATA := target/profdata
$(PROFDATA)/llvm-profdata:
	@find_profdata() { ls "$$(rustc --print target-libdir)/../bin/llvm-profdata" 2>/dev/null || command -v llvm-profdata-$(LLVM_VERSION); }; \
	if ! find_profdata >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "make: installing llvm-$(LLVM_VERSION)"; \
		export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq llvm-$(LLVM_VERSION) >/dev/null || true; \
	fi; \
	program=$$(find_profdata) || { echo "make: needs llvm-profdata $(LLVM_VERSION): rustup component add llvm-tools, or on Debian: sudo apt-get install llvm-$(LLVM_VERSION)" >&2; exit 1; }; \
	mkdir -p $(PROFDATA) && ln -sf "$$program" $@

optimized: setup $(PROFDATA)/llvm-profdata ## the extension once more, compiled for what runs do: simulations take a sixth to a quarter less time (10 to 20 minutes)
	PATH="$(CURDIR)/$(PROFDATA):$$PATH" VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --pgo
	@touch $(VENV)/.built

demo: setup ## set up and reproduce the DAPS paper
	$(BIN)/plait reproduce daps-icc14

test: setup ## set up and run every lint, type check and test but the slow ones (12 to 22 minutes, by what changed)
	@start=$$SECONDS; $(MAKE) lint-rust test-rust; \
		$(MAKE) -j2 --output-sync=recurse lint-python test-linux-schedulers; $(MAKE) test-ffi test-python; \
		printf '\nmake test: all checks passed in %d s (format, clippy, rustdoc, ruff, mypy, stubtest, nextest, doctests, kernel schedulers, C interface, pytest)\n' $$((SECONDS - start))

# Each check that passed leaves a stamp, one for Rust and one for Python.
CHECKED := target/checked
CHECKED_RUST := $(shell find crates fuzz benches/speed scenarios -type f ! -path '*/target/*') Cargo.toml Cargo.lock clippy.toml rustfmt.toml .config/nextest.toml
PYTHON_SOURCES := $(shell find python docs league questions papers scenarios benches packaging linux/tests/stock -type f ! -name '*.so' ! -name '*.pyc') pyproject.toml
# These files take three quarters of the time of the Python tests; `make check` skips them unless they have changed.
LONG := papers site own_library cluster advise advise_options advise_requests advise_statements cli designs playground \
	playground_page proxy repeated repetition report_numbers sweep validate_command validate_goals
# A file that is edited during a check is newer than its stamp.
begin = @mkdir -p $(@D) && touch $@.new
passed = @mv $@.new $@
# The crates with files that are newer than the stamp.
changed = $(filter-out plait-py,$(sort $(foreach file,$(filter crates/% fuzz/%,$?),$(if $(filter fuzz/%,$(file)),plait-fuzz,$(word 2,$(subst /, ,$(file)))))))

check: $(CHECKED)/rust $(CHECKED)/python ## after a change: formats, lints, types; tests of changed crates, or of Python (two minutes)

$(CHECKED)/rust: $(CHECKED_RUST) | $(VENV)/.installed
	$(begin)
	$(call say,cargo fmt and clippy)
	@cargo fmt --all -- --check
	@cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	$(call say,tests of $(changed) and golden results)
	@$(NEXTEST) --profile check --cargo-quiet $(WORKSPACE) -E '$(foreach crate,$(changed),package($(crate)) |) (package(plait-sim) & test(/^(golden|scenarios)::/))'
	$(passed)

$(CHECKED)/python: $(PYTHON_SOURCES) | $(VENV)/.installed $(if $(wildcard $(VENV)/.built),,$(VENV)/.built)
	$(begin)
	$(lint_python)
	$(call say,pytest)
	@[ -z "$$(find $(RUST_SOURCES) -newer $(VENV)/.built -print -quit)" ] || \
		echo "make check: the extension is older than the Rust sources; make test builds it first"
	@$(PYTEST) $(foreach name,$(LONG),$(if $(filter python/tests/test_$(name).py,$?),,--ignore=python/tests/test_$(name).py))
	$(passed)

# The extension is tested from Python.
WORKSPACE := --workspace --exclude plait-py
NEXTEST = $(BIN)/cargo-nextest nextest run --locked
# A test that hangs says where, and ends. Long runs (`full`, the debug kernel) have no such limit.
PYTEST = $(BIN)/python -m pytest -n auto --dist worksteal -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true

test-rust: setup ## the Rust tests, documentation examples included
	$(call say,nextest)
	$(NEXTEST) $(WORKSPACE)
	$(call say,doctests)
	cargo test --locked $(WORKSPACE) --doc --quiet

build-tests: $(VENV)/.installed # for .ci/run: beside `make setup`, which uses one core for most of its time
	@$(NEXTEST) --cargo-quiet --no-run $(WORKSPACE)

test-slow: setup tools ## the rest: every page's examples, the site, a browser (four minutes)
	$(call say,pages and browser)
	$(PYTEST) -m 'slow and not full and not kernel'

# Programs that tests drive; without them those tests are skipped, and say so.
TOOLS := chromium tshark clang
LIBBPF := /usr/include/bpf/libbpf.h
tools:
	@missing=""; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -e $(LIBBPF) ] || missing="$$missing libbpf-dev"; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "make: installing$$missing"; \
		export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; \
	elif [ -n "$$missing" ]; then \
		echo "make: tests that need$$missing will be skipped; on Debian: sudo apt-get install$$missing" >&2; \
	fi

test-python: setup tools ## the Python tests
	$(call say,pytest)
	$(PYTEST)

test-linux-schedulers: ## the kernel's schedulers in C against those in Rust, call by call, in user space
	$(call say,kernel schedulers)
	@command -v gcc >/dev/null || { echo "make test-linux-schedulers: needs gcc; on Debian: sudo apt-get install gcc libc6-dev" >&2; exit 1; }
	$(MAKE) -C linux/tests test
	@if command -v clang >/dev/null && [ -e $(LIBBPF) ]; then $(MAKE) -C linux/bpf check; else \
		echo "make test-linux-schedulers: skips linux/bpf, which needs clang and libbpf; on Debian: sudo apt-get install clang libbpf-dev"; fi

test-ffi: ## the C interface from C under AddressSanitizer, and one small transport in Rust, C and Python: the same numbers
	$(call say,C interface)
	@command -v gcc >/dev/null || { echo "make test-ffi: needs gcc; on Debian: sudo apt-get install gcc libc6-dev" >&2; exit 1; }
	$(MAKE) -C crates/plait-sched-ffi/tests/c

kernel: setup ## build the real kernel (5 to 15 minutes; once) and run the tests that boot it (minutes)
	$(call say,kernel)
	$(BIN)/plait linux build
	$(MAKE) -C linux/tests vectors
	$(PYTEST) -m 'kernel and not full'

kernel-debug: setup ## build a kernel that watches itself (KASAN, lockdep, kmemleak) and run every scheduler in it (long)
	$(BIN)/plait linux build --debug
	$(BIN)/python -m pytest -m 'kernel' python/tests/test_kernel_debug.py

kernel-torture: setup ## 500 boots of the kernel under all schedulers (ten minutes)
	$(BIN)/plait linux build
	$(BIN)/python -m pytest -m 'kernel and full'

STOCK = $(BIN)/python linux/tests/stock/stock.py test
STOCK_MODULE = target/linux/package/plait-mptcp-$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
define stock_source
	@$(MAKE) -C linux/package source REPLAY=1
	@$(MAKE) -C linux/tests vectors
endef

kernel-stock: setup ## the module in three kernels of Debian with four processors, under QEMU (root; one to three hours; the first time fetches 350 MB)
	$(stock_source)
	$(STOCK) $(STOCK_MODULE)

kernel-stock-short: setup ## the same with one kernel and fewer files (root; 10 minutes); skipped, with the reason, where debootstrap or a package is missing
	$(stock_source)
	$(STOCK) --short --optional --kernel 6.12.118 --module plait $(STOCK_MODULE)

kernel-stock-debug: setup ## the same in two kernels that watch themselves: KASAN and lockdep, KCSAN (root; builds both: hours)
	$(stock_source)
	$(STOCK) --kernel kasan --kernel kcsan $(STOCK_MODULE)

reproduce: setup ## every paper in full: rows, reasons and the READMEs' tables held against the runs (minutes)
	$(call say,papers)
	$(BIN)/python -m pytest -m 'not kernel' python/tests/test_papers.py

lint: lint-rust lint-python ## formatting, lints, types, stubs, documentation

lint-rust: setup ## formatting, clippy and rustdoc, warnings denied
	$(call say,cargo fmt)
	cargo fmt --all -- --check
	$(call say,cargo clippy)
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(call say,cargo doc)
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --quiet

define lint_python
	$(call say,ruff)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	$(call say,mypy)
	@$(BIN)/mypy
endef

lint-python: setup ## ruff, mypy --strict, stubtest
	$(lint_python)
	$(call say,stubtest)
	MYPYPATH=python $(BIN)/stubtest plait._core

format: setup ## rewrite Rust and Python in the project's format
	cargo fmt --all
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

docs: setup ## build the documentation site into site/, warnings as errors (look at it: python -m http.server -d site)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "wrote $(CURDIR)/site/index.html"

reference: setup ## write what the code says of itself (keys, commands, Python, metrics, lists, counts) into all pages
	$(BIN)/python docs/generate.py

figures: setup ## draw the figures of README and site, write the measured tables and values of their pages anew
	$(BIN)/python docs/images/space_time.py
	$(BIN)/python docs/draw.py
	$(BIN)/python docs/measured.py

figures-linux: setup ## write the tables that hold the kernel's runs beside the simulator's (an hour; needs plait linux build)
	$(BIN)/python docs/measured.py --engine linux

figures-usrsctp: setup ## write the tables that hold the runs of FreeBSD's SCTP stack beside the simulator's (needs plait usrsctp build)
	$(BIN)/python docs/measured.py --engine usrsctp

TRACES ?=
league: setup ## every scheduler over eight domains, and the page that says who wins where (twenty minutes)
	$(BIN)/python league/league.py

questions: setup ## answer the open questions anew: runs, figures, numbers in docs/questions (LTE: make questions TRACES=folder)
	cargo bench --locked -p plait-speed --bench decision
	$(BIN)/python questions/answer.py $(if $(TRACES),--traces $(TRACES))

validate: setup ## the simulator against the real kernel: runs (three quarters of an hour), docs/validation.md; fails if a goal is missed
	$(BIN)/plait linux build
	@status=0; $(BIN)/plait validate linux --resume --out results/validation || status=$$?; \
		[ $$status -gt 1 ] || $(BIN)/python docs/validation.py results/validation; exit $$status

disciplines: setup ## CoDel and FQ-CoDel against the kernel's: runs (20 minutes), docs/queues.md
	$(BIN)/plait linux build
	$(BIN)/python docs/queues.py

PUBLISHED := plait-sched plait-sched-ffi plait-transport plait-sim
package: ## what cargo publish would do, without publishing; then what is in the packages by itself: plait-sched's tests, examples (minutes)
	$(call say,cargo publish --dry-run)
	cargo publish --locked --dry-run --allow-dirty $(addprefix -p ,$(PUBLISHED))
	@target=$$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/'); \
	own=(--config profile.test.opt-level=2 --target-dir "$$target/packaged"); \
	for crate in $(PUBLISHED); do own+=(--config "patch.crates-io.$$crate.path='$$(echo "$$target/package/$$crate"-[0-9]*/)'"); done; \
	printf '\n== packaged plait-sched\n'; (cd "$$target"/package/plait-sched-[0-9]*/ && cargo test --quiet --all-features "$${own[@]}"); \
	printf '\n== packaged plait-sim\n'; (cd "$$target"/package/plait-sim-[0-9]*/ && cargo test --quiet --doc "$${own[@]}" && cargo build --quiet --examples "$${own[@]}")

# Wheels run on every Linux since glibc 2.17 (2012), which is what Rust asks for. That of another processor needs Rust's library for it.
# That for this one is compiled for what packaging/training.py does, as by make optimized, where llvm-profdata is to be had; in two steps
# and not with maturin's --pgo, because zig links what is compiled for good and cannot link what counts.
DIST := target/dist
DIST_TARGETS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
dist: $(VENV)/.installed $(PROFDATA)/llvm-profdata ## source distribution and wheels into target/dist, this processor's tried in a fresh environment without Rust (half an hour)
	$(call say,packages)
	rm -rf $(DIST); mkdir -p $(DIST)
	$(BIN)/python -m venv $(DIST)/venv
	$(DIST)/venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r packaging/requirements.lock
	$(DIST)/venv/bin/maturin sdist --out $(DIST)
	@# From what is in the source distribution, so that nothing can be missing there.
	mkdir $(DIST)/source && tar xzf $(DIST)/plait-*.tar.gz --strip-components 1 -C $(DIST)/source
	@# The licences of the linked crates go into the wheels.
	$(PYTHON) packaging/licences.py plait-py $(DIST)/source/python/plait/THIRD-PARTY.txt
	@root=$$PWD; dist=$$PWD/$(DIST); host=$$(rustc -vV | sed -n 's/^host: //p'); \
	export PATH="$$dist/venv/bin:$$PATH" VIRTUAL_ENV="$$dist/venv" CARGO_TARGET_DIR="$$root/target"; \
	(cd $$dist/source; RUSTFLAGS="-Cprofile-generate=$$dist/counts" \
		maturin build --release --target $$host --compatibility linux --out ../counting); \
	python -m zipfile -e $$dist/counting/*.whl $$dist/counting; \
	PYTHONPATH=$$dist/counting $(BIN)/python packaging/training.py; \
	$(PROFDATA)/llvm-profdata merge -o $$dist/runs.profdata $$dist/counts; \
	for target in $(DIST_TARGETS); do \
		if [ ! -d "$$(rustc --print target-libdir --target $$target)" ]; then \
			echo "make dist: no wheel for $$target: its library is missing; rustup target add $$target"; continue; \
		fi; \
		flags=""; if [ $$target = $$host ]; then flags="-Cprofile-use=$$dist/runs.profdata"; fi; \
		(cd $$dist/source; RUSTFLAGS="$$flags" maturin build --release --zig --target $$target --compatibility manylinux_2_17 --out ..); \
	done
	$(BIN)/python packaging/check.py $(DIST)/plait-*$$(uname -m).whl
	@ls -l $(DIST)/*.whl $(DIST)/*.tar.gz

# glibc is linked in: Rust's library for musl is not everywhere. In such a program getrandom finds no symbols at run time and would read /dev/urandom,
# which not every place has; so it is told to call the C library.
STATIC := target/static
static: ## plait-quic as one file that needs nothing beside it, into target/static, tried in an empty folder as root (minutes)
	$(call say,static plait-quic)
	@host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTFLAGS='-C target-feature=+crt-static --cfg getrandom_backend="linux_getrandom"' CARGO_TARGET_DIR=$(STATIC) CARGO_PROFILE_RELEASE_STRIP=symbols \
		cargo build --release --locked -p plait-quic --target $$host; \
	cp $(STATIC)/$$host/release/plait-quic $(STATIC)/plait-quic
	$(PYTHON) packaging/static.py $(STATIC)/plait-quic

deb: static ## a Debian package of the static plait-quic, into target/static (as long as make static; needs dpkg-deb)
	$(PYTHON) packaging/deb.py $(STATIC)/plait-quic $(STATIC)

# RUST_SRC=FILE names Debian's package of the library's source where it cannot be fetched.
PLAYGROUND := target/playground/playground.html
playground: setup ## the simulator as a page for browsers, into target/playground (two minutes at first; fetches 45 MB, once)
	$(BIN)/python -m plait.playground.build $(PLAYGROUND) $(RUST_SRC)

SEED ?= $(shell date +%s)
random-torture: ## 150,000 new random scenarios of all protocols: every byte once, or a failure that the network justifies (20 minutes to an hour)
	PLAIT_SEED=$(SEED) cargo test --locked --release -p plait-sim --test it -- --ignored --nocapture torture

FINGERPRINTS ?= target/fingerprints.txt
fingerprints: ## a hash of all results of 12,000 random scenarios and of scenarios/, into FINGERPRINTS=…; diff those of two trees (minutes)
	PLAIT_FINGERPRINTS=$(abspath $(FINGERPRINTS)) cargo test --locked --release -p plait-sim --test it -- --ignored fingerprints

# Coverage for libFuzzer, in code that a stable compiler makes; --target keeps it out of build scripts.
FUZZ_FLAGS := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table trace-compares)
FUZZ_SECONDS ?= 20
fuzz: ## search for bytes that break a decoder, led by coverage: 20 s for each target (FUZZ_SECONDS=…), two minutes
	@command -v c++ >/dev/null || { echo "make fuzz: needs a C++ compiler; on Debian: sudo apt-get install g++" >&2; exit 1; }
	@host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTFLAGS="$(FUZZ_FLAGS) -Cdebug-assertions -Ccodegen-units=16" CARGO_PROFILE_RELEASE_LTO=off \
		cargo build --locked --release -p plait-fuzz --features libfuzzer --target $$host --target-dir target/fuzz; \
	for target in $$(cargo run --locked --quiet -p plait-fuzz --example seeds -- target/fuzz/corpus); do \
		printf '\n== fuzz %s\n' $$target; \
		PLAIT_FUZZ=$$target target/fuzz/$$host/release/plait-fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=2000 -timeout=5 \
			-rss_limit_mb=512 -verbosity=0 -print_final_stats=1 -artifact_prefix=target/fuzz/$$target- target/fuzz/corpus/$$target \
			2>&1 | sed -e '/^WARNING/d; /^INFO/d; /NEW_FUNC/d; /^#* *[Rr]ecommended/d; /# Uses/d; /End of recommended/d'; \
	done

bench: ## decision cost per scheduler, simulated packets per second
	cargo bench --locked -p plait-speed --bench decision
	cargo bench --locked -p plait-speed --bench packets

ONLY ?=
bench-suite: setup ## the stored results of plait bench, and their page (ten minutes of processor; those of some schedulers: ONLY="NAME …")
	$(BIN)/python docs/bench.py $(ONLY)

how-far: setup ## all schedulers against bounds and best schedules, and their page (20 minutes on two cores)
	$(BIN)/python docs/how_far.py

# The programs of benches/links take the program that is tried; see what each says of itself.
LINKS := target/release/plait-quic
links-torture: setup ## 1,000 transfers over links that lose packets and fail at random: SHA-256 equal in all? (half an hour; root)
	cargo build --release --locked -p plait-quic
	$(BIN)/python benches/links/transfers.py failures --program $(LINKS) --transfers 1000

MINUTES ?= 60
links-soak: setup ## files over links that fail again and again, and the memory of both ends meanwhile (MINUTES=60; root)
	cargo build --release --locked -p plait-quic
	$(BIN)/python benches/links/transfers.py soak --program $(LINKS) --minutes $(MINUTES)

links-day: setup ## a proxy's service for 15 minutes: 10,000 connections, cuts, address changes, restarts, behind a NAT (root, nft)
	cargo build --release --locked -p plait-quic
	$(BIN)/python benches/links/day.py $(LINKS)

bench-sweeps: setup ## what a sweep costs beyond its runs, and what a second worker adds (five minutes)
	$(BIN)/python benches/sweeps/measure.py throughput workers

sweep-torture: setup ## 100,000 runs in a sweep, whole and killed three times: the same bytes? (half an hour)
	$(BIN)/python benches/sweeps/measure.py torture

peers: setup ## the same scenarios in ns-2, ns-3 and here: results and speeds side by side
	@missing=$$(command -v ns >/dev/null || echo ns2; command -v g++ >/dev/null || echo g++; \
		echo '#include <ns3/core-module.h>' | g++ -E -x c++ - >/dev/null 2>&1 || echo libns3-dev); \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; \
		else echo "make peers: missing" $$missing"; on Debian: sudo apt-get install" $$missing >&2; exit 1; fi; fi
	$(BIN)/python benches/peers/compare.py

lock: $(VENV)/.created ## resolve the Python dependencies anew into the lock files
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock' \
		-o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock' \
		--group development --extra cluster --extra gym -o requirements-dev.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock' \
		--group pyproject.toml:packaging -o packaging/requirements.lock

clean: ## remove what was built and installed
	rm -rf $(VENV) target results site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/plait/_core*.so
