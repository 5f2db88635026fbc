#!/bin/sh
# Builds the bundle with the Eclipse compiler that the language server itself carries, so that a Java 21+ runtime is
# enough: no javac, no jar tool.
#
# usage: build.sh OUT_JAR JDTLS_HOME JAVA
set -eu

[ $# -eq 3 ] || { echo "usage: build.sh OUT_JAR JDTLS_HOME JAVA" >&2; exit 2; }
out=$1 home=$2 java=$3
here=$(cd "$(dirname "$0")" && pwd)

# The stamp names everything the jar is made of; an equal stamp means that there is nothing to do.
stamp=$({ cat "$0" "$here/plugin.xml" "$here/META-INF/MANIFEST.MF" "$here"/src/repair/jdtls/*.java; ls "$home/plugins"; } | sha256sum | cut -d ' ' -f 1)
if [ -f "$out" ] && [ "$(cat "$out.stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "bundle is up to date: $out"
    exit 0
fi

for compiler in "$home"/plugins/org.eclipse.jdt.core.compiler.batch_*.jar; do :; done
[ -f "$compiler" ] || { echo "build.sh: no Eclipse compiler below $home/plugins" >&2; exit 3; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
class_path=$(printf '%s:' "$home"/plugins/*.jar)
"$java" -cp "$compiler" org.eclipse.jdt.internal.compiler.batch.Main \
    -21 -encoding UTF-8 -proc:none -nowarn -g -cp "$class_path" -d "$work/classes" "$here/src"

mkdir -p "$(dirname "$out")"
python3 - "$here" "$work/classes" "$work/bundle.jar" <<'PYTHON'
import pathlib, sys, zipfile

here, classes, jar = map(pathlib.Path, sys.argv[1:])
members = [("META-INF/MANIFEST.MF", here / "META-INF/MANIFEST.MF"), ("plugin.xml", here / "plugin.xml")]
members += sorted((path.relative_to(classes).as_posix(), path) for path in classes.rglob("*.class"))
with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as out:
    for name, path in members:
        # A fixed time makes the same sources give the same bytes.
        out.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED)
PYTHON
# Renamed into place from the same directory, so that an interrupted build leaves no half a jar.
cp "$work/bundle.jar" "$out.part"
mv "$out.part" "$out"
echo "$stamp" > "$out.stamp"
echo "bundle built: $out"
