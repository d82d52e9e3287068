#!/usr/bin/env bash
# Compares the public symbols of all products with the baseline, Tests/api.txt, and fails with a diff if they differ.
#
#   .scripts/api.sh              builds, and compares
#   .scripts/api.sh --update     builds, and writes the baseline
#   .scripts/api.sh --no-build …   takes the build that is there
#
# A line has a symbol's path and declaration, whatever its module: a symbol that moves to a module that the same import has is no change. A line
# that is missing is a breaking change, unless the declaration that takes its place accepts the same code.
set -euo pipefail
cd "$(dirname "$0")/.."
baseline=Tests/api.txt update=false build=true
for option in "$@"; do
    case $option in
        --update) update=true ;;
        --no-build) build=false ;;
        *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 64 ;;
    esac
done

$build && swift build --enable-all-traits
. .scripts/symbols.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/trellis-api.XXXXXX")
trap 'rm -rf "$work"' EXIT
for name in "${modules[@]}"; do symbols "$name" "$work" & done
for _ in "${modules[@]}"; do wait -n; done

python3 - "$work" >"$work/api.txt" <<'PYTHON'
import json, pathlib, re, sys

symbols, relations = {}, []
for path in pathlib.Path(sys.argv[1]).rglob("*.symbols.json"):
    graph = json.loads(path.read_text())
    relations += graph["relationships"]
    for symbol in graph["symbols"]:
        symbols.setdefault((symbol["identifier"]["precise"], str(path) if symbol["kind"]["identifier"] == "swift.extension" else ""), symbol)

notes, conformances = {}, {}
for relation in relations:
    if relation["kind"] == "requirementOf":
        notes.setdefault(relation["source"], "requirement")
    elif relation["kind"] == "defaultImplementationOf":
        notes[relation["target"]] = "requirement with a default"
        notes[relation["source"]] = "default"
    elif relation["kind"] in ("conformsTo", "inheritsFrom"):
        name = relation.get("targetFallback") or next((s["names"]["title"] for (i, _), s in symbols.items() if i == relation["target"]), "")
        # Conformances that the compiler adds to every type of a kind.
        if name.split(".")[-1] not in ("SendableMetatype", "Copyable", "Escapable", ""):
            conformances.setdefault(relation["source"], set()).add(name.split(".")[-1])

lines = set()
for (identifier, _), symbol in symbols.items():
    words = "".join(piece["spelling"] for piece in symbol["declarationFragments"])
    words = re.sub(r"\s+", " ", words).strip()
    adopted = ", ".join(sorted(conformances.get(identifier, ())))
    if symbol["kind"]["identifier"] == "swift.extension":
        # An extension of another module's type says nothing itself, unless it adds a conformance.
        if not adopted:
            continue
    line = ".".join(symbol["pathComponents"]) + "    " + words
    if adopted:
        line += "    : " + adopted
    if identifier in notes:
        line += "    (" + notes[identifier] + ")"
    lines.add(line)
print("\n".join(sorted(lines)))
PYTHON

if $update; then
    cp "$work/api.txt" "$baseline"
    echo "$baseline has $(wc -l <"$baseline") symbols."
elif [ ! -f "$baseline" ]; then
    echo "error: there is no $baseline: .scripts/api.sh --update" >&2
    exit 1
elif diff -U 0 "$baseline" "$work/api.txt" >"$work/diff"; then
    echo "The public symbols are those of $baseline, $(wc -l <"$baseline") of them."
else
    grep -E '^[-+]' "$work/diff" | grep -vE '^(---|\+\+\+) ' || true
    echo "error: the public symbols differ from $baseline. If that is meant: .scripts/api.sh --update, and a line in CHANGELOG.md." >&2
    exit 1
fi
