# SPDX-License-Identifier: Apache-2.0
.PHONY: setup setup-tests demo test test-python test-rust test-nightly miri flaky lint lint-python lint-rust lint-shell docs gallery pictures validate study studies studies-quick bench fuzz proof soak kernel-checks wheels clean

setup:
	@scripts/setup

# With what tests need beside: a browser, a database, Mininet, tshark.
setup-tests:
	@HOPLAB_FOR_TESTS=1 scripts/setup

demo: setup
	@.venv/bin/hoplab run experiments/demo.toml

test: test-python test-rust

# Two workers, whose guests take a core each: make test-python WORKERS=8 DURATIONS=20. A file's tests
# go to one worker, so that what they share is made once; small files come last, so that both end together.
workers = -n $(or $(WORKERS),2) --dist loadfile --no-loadscope-reorder

test-python: setup-tests
	@.venv/bin/pytest -q $(workers) $(if $(DURATIONS),--durations=$(DURATIONS))

# A failing test says its line itself. What debuggers read takes a third of the time; for traces with
# lines: CARGO_PROFILE_DEV_DEBUG=line-tables-only make test-rust
test-rust: export CARGO_PROFILE_DEV_DEBUG ?= none
test-rust: setup
	@. scripts/rust && cargo test --manifest-path daemons/Cargo.toml --workspace --locked

# The `unsafe` code that Miri can run: what C calls of the medium, what is preloaded, addresses of
# interfaces. It needs rustup's nightly with the component miri. The rest are system calls that Miri lacks.
miri: export MIRIFLAGS = -Zmiri-disable-isolation
miri:
	@. scripts/rust && cd daemons && cargo +nightly miri test --locked --lib -p hoplab-linux -p hoplab-waiting-select
	@. scripts/rust && cd daemons && cargo +nightly miri test --locked --test pointers -p hoplab-medium-kernel

# What .ci/nightly runs beside that.
test-nightly: setup-tests
	@.venv/bin/pytest -q $(workers) -m nightly

# Tests that wait for others, again and again on a slowed host: make flaky TIMES=5 TESTS=tests/page
flaky: setup-tests
	@.venv/bin/python -m tests.flaky $(if $(TIMES),--times $(TIMES)) $(TESTS)

lint: lint-python lint-rust lint-shell

lint-python: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	MYPYPATH=experiments:kernel-modules/guest .venv/bin/mypy $(addprefix -p ,hoplab tests.validate tests.bench \
		dashboards tests.prose building $(notdir $(patsubst %/,%,$(dir $(wildcard experiments/*/analysis.py)))))
	.venv/bin/python -m tests.prose

lint-rust: setup
	. scripts/rust && cargo fmt --manifest-path daemons/Cargo.toml --all --check
	. scripts/rust && cargo clippy --manifest-path daemons/Cargo.toml --workspace --all-targets --locked -- -D warnings
	@# The fuzz crates stand outside the workspace, each with a lock of its own.
	. scripts/rust && for crate in daemons/*/fuzz/Cargo.toml; do \
		cargo metadata --manifest-path $$crate --locked --format-version 1 >/dev/null || exit; done

# Every tracked file that a shell runs or reads.
lint-shell: setup
	.venv/bin/shellcheck -x .ci/step scripts/rust $$(git grep -lE '^#!/bin/(ba)?sh$$' -- ':!*.py')

# The documentation as a site: open build/site/index.html. What is wrong in it fails.
docs: setup
	@NO_MKDOCS_2_WARNING=1 PLOTLY_RENDERER=notebook .venv/bin/mkdocs build --strict --quiet

# Reports of all examples, in build/gallery; 'make docs' then shows them.
gallery: setup
	@for file in docs/examples/*.toml; do \
		.venv/bin/hoplab run "$$file" --out "build/gallery/$$(basename "$$file" .toml)" || exit; done

# The pictures of README and documentation anew, from runs: make pictures ONLY=live
pictures: setup-tests
	@.venv/bin/python -m tests.docs.pictures $(ONLY)

# make validate ONLY=tcp/dumbbell NS2=run (with ns-2.35 itself, not its recorded figures; NS3=run: ns-3.37)
# make validate QUICK=1 takes parts of less than 20 minutes in all; MACHINE=7.3 another kernel, without the picture.
validate: setup
	@mkdir -p build; .venv/bin/python -m tests.validate $(ONLY) \
		--json build/validate$(addprefix -,$(MACHINE)).json $(addprefix --machine ,$(MACHINE)) \
		$(if $(QUICK),--quick) $(if $(NS2),--ns-2) $(if $(NS3),--ns-3); \
	status=$$?; test $$status -gt 1 -o -n "$(MACHINE)" || \
		.venv/bin/python -m tests.validate.accuracy build/validate.json || status=1; exit $$status

# make study NAME=energy QUICK=1: its tables and pictures, in build/studies
study: setup
	@.venv/bin/hoplab study $(NAME) $(if $(QUICK),--quick)

# Every study whole, on one machine, and its page anew. The store keeps runs: a stopped one goes on.
# One that names a kernel needs it built before (docs/kernels.md).
studies: setup
	@for values in experiments/*/expected.json; do \
		.venv/bin/hoplab study $$(basename $$(dirname $$values)) --docs || exit; done

# Every study's short version, held against what is committed. One that names a kernel is
# .ci/nightly's, which builds it.
studies-quick: setup
	@for values in experiments/*/expected.json; do \
		folder=$$(dirname $$values); grep -q '^key = "machine"' $$folder/quick.toml && continue; \
		.venv/bin/hoplab study $$(basename $$folder) --quick || exit; done

# make bench BESIDE=COMMIT takes turns with another version, PEERS=1 with ns-3 (libns3-dev),
# PEERS=1 WMEDIUMD=CHECKOUT also with wmediumd, as the medium in the same guest
bench: setup-tests
	@.venv/bin/python -m tests.bench $(if $(BESIDE),--beside $(BESIDE)) $(if $(PEERS),--peers) \
		$(if $(WMEDIUMD),--wmediumd $(WMEDIUMD))

# make fuzz SECONDS=600 TARGET=netlink, or make fuzz INPUTS=10000000: so many inputs of each target
# (with SEED=1 the same inputs each time)
fuzz: setup
	@INPUTS=$(INPUTS) SEED=$(SEED) scripts/fuzz $(or $(SECONDS),10) $(TARGET)

# The same digests under every circumstance that this host allows: make proof ONLY=babeld
# With another kernel, twice each.
# make proof MACHINE=7.3 ONLY=again
proof: setup-tests
	@.venv/bin/python -m tests.proof $(addprefix --machine ,$(MACHINE)) $(ONLY)

# Memory over 10^9 frames of the engine and a day of thirty mobile stations: some two hours.
# make soak FRAMES=1000000 VIRTUAL_S=600 ONLY=mobile
soak: setup
	@.venv/bin/python -m tests.soak $(if $(FRAMES),--frames $(FRAMES)) \
		$(if $(VIRTUAL_S),--virtual-s $(VIRTUAL_S)) $(ONLY)

# The modules' tests in kernels that watch their locks and their memory; each takes minutes to compile.
# User-Mode Linux keeps KASAN's marks of an unloaded module, so the test that loads one anew is left out.
kernel-checks:
	@export HOPLAB_KERNEL_CHECKS=lockdep HOPLAB_FOR_TESTS=1; scripts/setup && \
		.venv/bin/hoplab exec -- dmesg | grep 'Lock dependency validator' && \
		.venv/bin/pytest -q tests/emulation/test_elfn.py tests/emulation/test_tcp_modules.py
	@export HOPLAB_KERNEL_CHECKS=kasan HOPLAB_FOR_TESTS=1; scripts/setup && \
		.venv/bin/hoplab exec -- grep -m1 __asan_load8 /proc/kallsyms && \
		.venv/bin/pytest -q tests/emulation/test_elfn.py tests/emulation/test_tcp_modules.py

# What 'pip install' takes, in build/wheels.
wheels: setup
	@scripts/wheels

clean:
	rm -rf build .venv daemons/target
