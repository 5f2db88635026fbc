#!/usr/bin/env bash
# Tokens per second of processor time on one thread: ours, transformers' and llama.cpp's, in one run.
# Random weights of CodeT5's sizes are made in DIR (some 1.2 GB), the default model is taken from the cache.
#
#     speed.sh DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: speed.sh DIR}
cache=${REPAIR_HOME:-$HOME/.cache/repair}
python=${REFERENCE_VENV:-$cache/reference-venv}/bin/python
smollm2=$cache/models/SmolLM2-135M-Instruct.Q4_1.gguf
export OMP_NUM_THREADS=1
[ -d "$dir/codet5-base" ] || "$python" "$here/speed.py" make "$dir"
cd "$here/../.."
FIGURES_MODELS="$dir/codet5-small $dir/codet5-base $smollm2" cargo test --quiet --test speed -- --ignored --nocapture
"$python" "$here/speed.py" measure "$dir" "$smollm2"
