#!/usr/bin/env bash
# One shard of a campaign, begun again as long as it is killed: what has a result is not done again.
#
# usage: shard.sh K N DIR ARGS...    ARGS are those of `repair campaign`: sets, -n, --variant, --seeds, ...
# REPAIR names the program, `repair` on the path unless set.
set -uo pipefail

[ $# -ge 4 ] || { echo "usage: shard.sh K N DIR ARGS..." >&2; exit 2; }
k=$1 n=$2 dir=$3
shift 3

for attempt in 1 2 3 4 5; do
    "${REPAIR:-repair}" campaign --shard "$k/$n" --dir "$dir" "$@"
    status=$?
    # 5: some units failed, each with its record. 130 and below are answers; above, a signal ended it.
    [ "$status" -gt 130 ] || exit "$status"
    echo "shard $k/$n ended with $status at attempt $attempt" >&2
done
exit "$status"
