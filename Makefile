# SPDX-License-Identifier: Apache-2.0
.PHONY: setup demo test lint validate bench fuzz proof wheels clean

setup:
	@scripts/setup

demo: setup
	@.venv/bin/hoplab run experiments/demo.toml

test: setup
	@.venv/bin/pytest -q
	@. scripts/rust && cargo test --manifest-path daemons/Cargo.toml --workspace --locked

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/mypy -p tests.validate
	. scripts/rust && cargo fmt --manifest-path daemons/Cargo.toml --all --check
	. scripts/rust && cargo clippy --manifest-path daemons/Cargo.toml --workspace --all-targets --locked -- -D warnings

# make validate ONLY=tcp/dumbbell NS2=run (with ns-2.35 itself, not its recorded figures)
validate: setup
	@.venv/bin/python -m tests.validate $(ONLY) $(if $(NS2),--ns-2)

bench: setup
	@.venv/bin/python -m tests.bench

# make fuzz SECONDS=600 TARGET=netlink
fuzz: setup
	@scripts/fuzz $(or $(SECONDS),10) $(TARGET)

# The same digests under every circumstance that can be had here: make proof ONLY=babeld
proof: setup
	@.venv/bin/python -m tests.proof $(ONLY)

# What 'pip install' takes, in build/wheels.
wheels: setup
	@scripts/wheels

clean:
	rm -rf build .venv daemons/target
