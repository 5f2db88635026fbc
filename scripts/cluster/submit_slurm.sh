#!/usr/bin/env bash
# A campaign as a Slurm job array, and its report when all shards are through.
#
# usage: submit_slurm.sh N DIR ARGS...      N shards into DIR, which all nodes see; ARGS are those of `repair campaign`
# SBATCH_OPTIONS holds further options of sbatch (partition, time, memory); REPAIR names the program.
#
# A shard that is killed begins again on its node (shard.sh); one whose node goes away is put into the queue again by Slurm.
set -euo pipefail

[ $# -ge 3 ] || { echo "usage: submit_slurm.sh N DIR ARGS..." >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
n=$1 dir=$2
shift 2
mkdir -p "$dir/logs"
dir=$(cd "$dir" && pwd)
read -ra options <<< "${SBATCH_OPTIONS:-}"

quoted=$(printf ' %q' "$@")
shards=$(sbatch --parsable --requeue --job-name=repair --array="1-$n" --output="$dir/logs/shard-%a.log" "${options[@]}" \
    --wrap "exec '$here/shard.sh' \$SLURM_ARRAY_TASK_ID $n '$dir'$quoted")
report=$(sbatch --parsable --job-name=repair-report --dependency="afterany:$shards" --output="$dir/logs/report.log" \
    "${options[@]}" --wrap "'${REPAIR:-repair}' report '$dir' --format html > '$dir/report.html'")
echo "shards are job $shards, the report is job $report; the report will be $dir/report.html"
