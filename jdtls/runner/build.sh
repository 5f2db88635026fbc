#!/usr/bin/env bash
# Builds the test runner: build.sh OUT_JAR JAVAC JUNIT_CONSOLE_JAR
# JAVAC is any JDK's from 9 on; the classes run on Java 8 and newer.
set -euo pipefail

if [ $# -ne 3 ]; then
    echo "usage: build.sh OUT_JAR JAVAC JUNIT_CONSOLE_JAR" >&2
    exit 2
fi
out_jar=$1 javac=$2 junit=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -f "$junit" ] || { echo "no JUnit console jar at $junit" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t sources < <(find "$here/src" -name '*.java' | LC_ALL=C sort)
mkdir "$work/classes"
"$javac" --release 8 -g -Xlint:all,-options -Werror -encoding UTF-8 -cp "$junit" -d "$work/classes" "${sources[@]}"

jar=$(dirname "$(readlink -f "$(command -v "$javac")")")/jar
printf 'Main-Class: repair.runner.Main\n' > "$work/manifest"
"$jar" cfm "$work/out.jar" "$work/manifest" -C "$work/classes" .
mkdir -p "$(dirname "$out_jar")"
# A rename within one directory is atomic: an interrupted build leaves the old jar or none.
mv "$work/out.jar" "$out_jar.new"
mv "$out_jar.new" "$out_jar"
