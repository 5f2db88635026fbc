#!/usr/bin/env bash
# Repairs a bundled bug from start to end: set-up, build, failing test, search, diff, passing test.
#
# usage: demo.sh [BUG]    one bug, `wrong-operator` unless named
#        demo.sh --all    all bugs, each with at most 100 samples until a patch passes all tests, and a table of the outcomes
#        demo.sh --list   the names of the bugs
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fixture=$root/tests/fixtures/demo
cd "$root" # a relative CARGO_TARGET_DIR means the same to us as to cargo
repair=${CARGO_TARGET_DIR:-target}/debug/repair
samples=100
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

title() { printf '\n== %s\n' "$*"; }
die() {
    printf 'demo: %s\n' "$*" >&2
    exit 2
}

# --- what the bugs are (tests/fixtures/demo/bugs/bugs.json) --------------------------------------------------------

bug_names() {
    python3 -c 'import json, sys; print(*(bug["id"] for bug in json.load(open(sys.argv[1]))), sep="\n")' \
        "$fixture/bugs/bugs.json"
}

# Sets kind, file, first, last, test, description from the bug's entry.
read_bug() {
    IFS=$'\t' read -r kind file first last test description < <(
        python3 - "$fixture/bugs/bugs.json" "$1" << 'PYTHON'
import json, sys

for bug in json.load(open(sys.argv[1])):
    if bug["id"] == sys.argv[2]:
        print(*(bug[key] for key in ("kind", "file", "first", "last", "test", "description")), sep="\t")
PYTHON
    ) || die "there is no bug named $1; there are: $(bug_names | xargs)"
}

# make_tree BUG DIR: the demo project with the bug in it.
make_tree() {
    cp -r "$fixture/base" "$2"
    cp -r "$fixture/bugs/$1/." "$2"
}

# --- what a run left behind (RUN_DIR/summary.json) -----------------------------------------------------------------

# figure RUN_DIR KEY: samples, compilable, plausible, first_plausible, seconds; `-` where there is none.
figure() {
    python3 - "$1/summary.json" "$2" << 'PYTHON'
import json, sys

value = json.load(open(sys.argv[1]))["bugs"][0][sys.argv[2]]
print("-" if value is None else round(value) if isinstance(value, float) else value)
PYTHON
}

# The highest ranked plausible patch.
best_diff() {
    printf '%s/%s\n' "$1" "$(figure "$1" best_diff)"
}

# --- steps ---------------------------------------------------------------------------------------------------------

# The flags that name the bug, one to a line.
bug_flags() {
    local at=$file:$first-$last
    if [ "$kind" = insert ]; then at=$file:$first; fi
    printf '%s\n' --at "$at" --test "$test"
    if [ "$kind" = insert ]; then echo --insert; fi
}

# run_repair TREE RUN_DIR MORE..: `repair` on the bug that was read last; its exit code is ours.
run_repair() {
    local flags
    mapfile -t flags < <(bug_flags)
    "$repair" --project "$1" "${flags[@]}" -n "$samples" --stop-after 1 --run-dir "$2" "${@:3}"
}

# Whether the bug's test passes in the tree; what it says when it fails.
test_passes() {
    local out
    out=$(mvn -B -q -Dstyle.color=never -f "$1/pom.xml" "-Dtest=$test" test 2>&1 < /dev/null) && return
    grep -m 1 -E "^\[ERROR\] +[A-Za-z]+\.${test#*#}" <<< "$out" || tail -n 5 <<< "$out"
    return 1
}

show_lines() {
    printf '%s\n' "$file"
    awk -v first="$first" -v last="$last" -v kind="$kind" 'NR >= first - 3 && NR <= last + 2 {
        if (kind == "insert" && NR == first) print "  >     |  (lines are missing here)"
        printf "  %s %4d | %s\n", (kind != "insert" && NR >= first && NR <= last) ? ">" : " ", NR, $0
    }' "$1/$file"
}

repair_one() {
    local tree=$work/$1 run=$work/run patch code=0
    read_bug "$1"
    make_tree "$1" "$tree"
    title "The bug: $description"
    show_lines "$tree"
    title "The failing test: $test"
    if test_passes "$tree"; then die "the test passes already"; fi
    title "Repair: at most $samples samples, until one passes all tests"
    run_repair "$tree" "$run" || code=$?
    if [ $code -ne 0 ]; then
        title "No patch (exit code $code); the run is in $run"
        exit $code
    fi
    patch=$(best_diff "$run")
    title "With the patch"
    # The ceiling keeps git from taking a repository further up for the tree's.
    GIT_CEILING_DIRECTORIES=$work git -C "$tree" apply "$patch"
    test_passes "$tree"
    echo "$test passes"
    title "The patch: $patch"
    cat "$patch"
}

repair_all() {
    local rows=() id code
    for id in $(bug_names); do
        read_bug "$id"
        make_tree "$id" "$work/$id"
        title "$id: $description"
        code=0
        run_repair "$work/$id" "$work/run-$id" || code=$?
        # 1: none found. All else is no outcome but a fault.
        if [ $code -gt 1 ]; then exit $code; fi
        rows+=("$(row "$id" "$work/run-$id")")
    done
    title "Outcomes, at most $samples samples each; the runs are in $work"
    echo "| bug | kind | samples | compilable | first plausible at sample | seconds |"
    echo "|---|---|---|---|---|---|"
    printf '%s\n' "${rows[@]}"
}

row() {
    local key
    printf '| %s | %s |' "$1" "$kind"
    for key in samples compilable first_plausible seconds; do
        printf ' %s |' "$(figure "$2" "$key")"
    done
}

bug=${1:-wrong-operator}
case $bug in
    --list) bug_names && exit ;;
    --all) ;;
    -*) die "usage: demo.sh [BUG | --all | --list]" ;;
    *) read_bug "$bug" ;;
esac

scripts/setup.sh
cargo build --locked
work=$(mktemp -d "${TMPDIR:-/tmp}/repair-demo.XXXXXX")
if [ "$bug" = --all ]; then repair_all; else repair_one "$bug"; fi
