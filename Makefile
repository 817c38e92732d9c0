# Two commands matter: `make run` (see it work) and `make test` (know it works). Each sets up what is missing.
TARGET ?= $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
FUZZ_SECONDS ?= 600
# Where set-up puts Node when this machine's own is too old.
export PATH := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/whycrash/node/bin:$(PATH)
# One line a stage; what a stage's tools print is errors and warnings.
SAY = @printf '%s\n' >&2
# Most tests wait, for processes or for a limit: with one for each processor, processors would idle.
export RUST_TEST_THREADS ?= $(shell expr 4 + $$(nproc))
WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -path web/dist -prune -o -type f -print 2>/dev/null)

.PHONY: calibrate golden digests first-try score-page setup setup-run plugins web build run test test-rust test-browser test-tools browser-tools test-programs run-rust-tests run-browser-tests authors contract check truth bench bench-service bench-run faults attack ends score gpualert fuzz dist clean

setup:            ## install what is missing on this machine, with progress
	@.ci/setup run test browser check

setup-run:
	@.ci/setup run

plugins:          ## build the built-in plugins to WebAssembly, from source
	@.ci/setup run
	@# Cargo counts processors by itself; the tokens of the make above are not handed to it.
	@MAKEFLAGS= plugins/build.sh

web: web/dist/index.html  ## build the web UI

web/dist/index.html: $(WEB_SOURCES)
	@.ci/setup run
	$(SAY) 'web: building the UI (half a minute)'
	@cd web && npm ci --no-fund --no-audit --loglevel=error && npm run -s build -- --logLevel warn
	@touch $@

# The whole workspace is selected, here and below, so that dependencies get the same features everywhere: built once.
build: setup-run  ## the two binaries, plugins and UI embedded
	@$(MAKE) -s -j2 plugins web
	$(SAY) 'build: compiling the server and the command line (minutes the first time)'
	@cargo build -q --workspace --bin whycrash --bin whycrash-server

run: build        ## crash two small programs for real, show why, leave the UI up (RUN_ONCE=1 ends after that)
	@BIN=$(TARGET)/debug tests/run.sh

test: build       ## everything
	@$(MAKE) -s -j3 run-rust-tests run-browser-tests

test-rust: build
	@$(MAKE) -s -j2 run-rust-tests

test-browser: build
	@$(MAKE) -s run-browser-tests

test-tools:
	@.ci/setup test

# A browser takes a minute to install: the tests in Rust begin meanwhile.
browser-tools: test-tools
	@.ci/setup browser
	@cd tests/browser && npm ci --no-fund --no-audit --loglevel=error

test-programs:
	$(SAY) 'tests: compiling them (minutes the first time)'
	@cargo test -q --workspace --tests --no-run

run-rust-tests: test-tools test-programs
	$(SAY) 'tests: running those in Rust, and beside them those of the web UI: both wait much'
	@PATH=$$(.ci/test-path) cargo test --workspace --tests --no-fail-fast

# What they print comes in one piece, when they are through: others print meanwhile.
run-browser-tests: export WHYCRASH_SERVER_BIN = $(TARGET)/debug/whycrash-server
run-browser-tests: browser-tools test-programs
	@{ (cd web && npm run -s test) && (cd tests/browser && node --test); } >$(TARGET)/web-tests.log 2>&1; \
	  status=$$?; cat $(TARGET)/web-tests.log; exit $$status

contract:        ## make the types of the web UI and of the SDK anew from the model
	WHYCRASH_MAKE_CONTRACT=1 cargo test -q --workspace --test system -- contract::the_

authors: build    ## write a plugin in every language, from an empty folder to a cause in a server (fetches their tools)
	cargo test -q --workspace --test system -- --include-ignored authors::

check: plugins web  ## formatting, lints, licences, documentation
	@.ci/setup check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	# The collector alone, which is built of fewer features.
	cargo clippy -p whycrash --no-default-features --bins -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items
	cargo deny --workspace check bans licenses sources
	# Among clippy's lints is incompatible_msrv: what Debian stable's compiler lacks is not used where that must do.
	cd plugins/builtin && cargo fmt --all --check && cargo clippy --workspace --target-dir $(TARGET) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --manifest-path plugins/builtin/Cargo.toml -p whycrash-plugin --no-deps \
	  --target-dir $(TARGET)
	cargo deny --manifest-path plugins/builtin/Cargo.toml --workspace check bans licenses sources
	cd web && npm run check

truth:            ## compare what is found with gdb, PyTorch and the analyzers, one table a kind of artifact
	cargo build -q --workspace --bin truth
	$(TARGET)/debug/truth

bench: plugins    ## measure against the tools people use now, ratios side by side
	@.ci/setup bench
	cargo build -q --release --workspace --bin bench --bin read --bin measure --bin plugins --bin whycrash
	@# Both, whether or not the first misses a goal.
	$(TARGET)/release/bench; status=$$?; $(TARGET)/release/plugins && exit $$status

bench-service: build  ## measure a server: reports a second, searches meanwhile, new knowledge over what is stored
	cargo build -q --release --workspace --bin whycrash-server --bin service
	$(TARGET)/release/service $(TARGET)/release/whycrash-server plugins/builtin/dist/hostile/misbehaving.wasm

bench-run:        ## measure what `run` costs a job, alone and under it in turn
	cargo build -q --release --workspace --bin whycrash --bin overhead
	$(TARGET)/release/overhead $(TARGET)/release/whycrash

faults: build     ## have a rank of a distributed job fail in eleven ways (make faults PYTHON=one with torch; no GPU needed)
	tests/faults/run.py $(TARGET)/debug/whycrash $(or $(PYTHON),python3)

attack: build     ## attack a real server under healthy load: hostile requests and artifacts, full disk, no descriptors, broken index
	cargo build -q --release --workspace --bin whycrash-server --bin whycrash-attack
	$(TARGET)/release/whycrash-attack

ends: build       ## end a server suddenly in 300 ways: killed, stopped, disk full, clock set; 100 more while plugins change (make ends SEED=the one of a run before)
	cargo build -q --release --workspace --bin whycrash-server --bin whycrash-attack
	$(TARGET)/release/whycrash-attack $(addprefix --seed=,$(SEED)) 'sudden ends'

score: build      ## diagnose the labelled corpus, one row a cause
	cargo test -q --workspace --test system -- --nocapture corpus

calibrate:        ## fit how sure answers are shown to be to what was said at first sight
	cargo run -q --workspace --bin calibrate -- plugins/host/src/calibration.toml

golden:          ## keep what the corpus is read as now, under new numbers of the readers and of signatures
	WHYCRASH_MAKE_GOLDEN=1 cargo test -q --workspace --test it -- golden::

first-try: build  ## write down what is said of new cases before anything is made for them: make first-try CASES='FOLDER…'
	cargo run -q --workspace --bin first-try -- $(CASES)

digests: build   ## write the digest of each case's document to a file: make digests OUT=file, before a move and after it
	WHYCRASH_DIGESTS=$(abspath $(OUT)) cargo test -q --workspace --test system -- corpus_score

score-page: build ## write the counts of docs/diagnosis.md anew from the corpus
	WHYCRASH_MAKE_COUNTS=1 cargo test -q --workspace --test system -- corpus_score

gpualert: plugins  ## the public corpus of GPUAlert, from a checkout: make gpualert CHECKOUT=folder
	cargo build -q --workspace --bin gpualert
	$(TARGET)/debug/gpualert $(CHECKOUT)

fuzz:             ## give every reader damaged input, FUZZ_SECONDS each
	@knowledge/fuzz/run.sh $(FUZZ_SECONDS)

dist: plugins    ## what is handed out, in target/dist: tarballs, Debian packages, a Python wheel; each is tried
	cli/packaging/dist.sh

clean:
	cargo clean
	rm -rf web/dist/assets web/dist/index.html plugins/builtin/dist
