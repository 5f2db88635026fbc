#!/usr/bin/env bash
# Makes tests/fixtures/models again: tiny random models of every family with their logits by transformers.
# A virtual environment is kept in ${REPAIR_HOME:-~/.cache/repair}/reference-venv, or taken from REFERENCE_VENV.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=${REFERENCE_VENV:-${REPAIR_HOME:-$HOME/.cache/repair}/reference-venv}
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
exec "$venv/bin/python" "$here/make.py" "${@:-$here/../../tests/fixtures/models}"
