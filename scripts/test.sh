#!/usr/bin/env bash
# Set-up, then all tests, on the real parts. Arguments go to `cargo test`.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
scripts/setup.sh
cargo test --locked --no-fail-fast "$@"
