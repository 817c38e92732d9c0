# Two commands matter: `make run` (see it work) and `make test` (know it works). Each sets up what is missing.
TARGET ?= $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
FUZZ_SECONDS ?= 600
WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -path web/dist -prune -o -type f -print 2>/dev/null)

.PHONY: setup plugins web build run test test-rust test-browser check truth bench score fuzz clean

setup:            ## install what is missing on this machine, with progress
	@.ci/setup run test check

plugins:          ## build the built-in plugins to WebAssembly, from source
	@.ci/setup run
	@plugins/build.sh

web: web/dist/index.html  ## build the web UI

web/dist/index.html: $(WEB_SOURCES)
	@.ci/setup run
	cd web && npm ci --no-fund --no-audit && npm run build
	@touch $@

build: plugins web  ## the two binaries, plugins and UI embedded
	cargo build --workspace --bins

run: build        ## crash two small programs for real, show why, leave the UI up (RUN_ONCE=1 ends after that)
	@BIN=$(TARGET)/debug tests/run.sh

test: test-rust test-browser  ## everything

test-rust: build
	@.ci/setup test
	cargo test --workspace --no-fail-fast

test-browser: build
	@.ci/setup test
	cd web && npm run test
	cd tests/browser && npm ci --no-fund --no-audit && WHYCRASH_SERVER_BIN=$(TARGET)/debug/whycrash-server node --test

check: plugins web  ## formatting, lints, licences, documentation
	@.ci/setup check
	cargo fmt --all --check
	cd plugins/builtin && cargo fmt --check -p native-crash -p cuda-oom -p dataloader-worker -p distributed
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items
	cargo deny --workspace check bans licenses sources
	cd web && npm run check

truth:            ## compare what is found with gdb, PyTorch and the analyzers, one table a kind of artifact
	cargo run -q -p whycrash-bench --bin truth

bench:            ## measure against the tools people use now, ratios side by side
	@.ci/setup bench
	cargo build -q --release -p whycrash-bench --bin bench --bin read --bin measure
	$(TARGET)/release/bench

score: build      ## diagnose the labelled corpus, one row a cause
	cargo test -q -p whycrash-tests --test it -- --nocapture corpus

fuzz:             ## give every reader damaged input, FUZZ_SECONDS each
	@.ci/setup fuzz
	@knowledge/fuzz/run.sh $(FUZZ_SECONDS)

clean:
	cargo clean
	rm -rf web/dist/assets web/dist/index.html plugins/builtin/dist
