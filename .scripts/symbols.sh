# Sourced by the scripts that read the symbols of the products, which have been built with all traits.
#
#   symbols MODULE FOLDER    writes the symbol graphs of a module

for tool in swift-symbolgraph-extract python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is needed" >&2
        exit 1
    fi
done

# The core and its features, which Trellis exports under its own name.
exported=(TrellisCaching TrellisCore TrellisDiagnostics TrellisDownloads TrellisEvents TrellisNameServices TrellisUpgrades TrellisWebSockets)
modules=(Trellis TrellisFoundation TrellisOAuth TrellisRedis TrellisSignatures TrellisTesting TrellisObservability TrellisService TrellisConfiguration TrellisTestTraits)
products=$(swift build --enable-all-traits --show-bin-path)
target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])')

# The modules of C that the Swift modules import.
maps=()
while read -r map; do maps+=(-Xcc "-fmodule-map-file=$map"); done < <(
    find -H "$products" -mindepth 2 -maxdepth 2 -name module.modulemap
    find "$PWD/.build/checkouts" -path '*/Sources/*/include/module.modulemap'
)

symbols() {
    swift-symbolgraph-extract -module-name "$1" -target "$target" -I "$products/Modules" "${maps[@]}" -output-dir "$2" \
        -minimum-access-level public -skip-synthesized-members -emit-extension-block-symbols \
        -experimental-allowed-reexported-modules="$(IFS=, && echo "${exported[*]}")"
    # What another module adds to a type of the core is an addition to Trellis, which has the type's page.
    local name
    for name in "${exported[@]}"; do
        [ -f "$2/$1@$name.symbols.json" ] || continue
        mkdir -p "$2/$name"
        sed "s/\"extendedModule\":\"$name\"/\"extendedModule\":\"Trellis\"/g" "$2/$1@$name.symbols.json" >"$2/$name/$1@Trellis.symbols.json"
        rm "$2/$1@$name.symbols.json"
    done
}
