#!/usr/bin/env bash
# Builds and runs a package outside the repository that depends on Trellis by path, as users have it: a binary with the Swift runtime inside.
# Checks that a user of the core resolves no other package, and that a user of each trait resolves the packages of its product alone. The
# products with traits are built and run by Examples, which depends on Trellis in the same way.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
# The folders stay between runs, so that only what changed is built again. Another checkout, whose tests may run now too, has its own.
folder=${TMPDIR:-/tmp}/trellis-outside-$(id -u)-$(cksum <<<"$repository" | cut -d' ' -f1)
mkdir -p "$folder/Sources/outside" "$folder/Sources/core"

cat > "$folder/Package.swift" <<SWIFT
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "outside",
    dependencies: [.package(name: "trellis", path: "$repository")],
    targets: [
        .executableTarget(
            name: "outside",
            dependencies: [
                .product(name: "Trellis", package: "trellis"), .product(name: "TrellisTesting", package: "trellis"),
            ]),
        .executableTarget(name: "core", dependencies: [.product(name: "TrellisCore", package: "trellis")]),
    ]
)
SWIFT
cat > "$folder/Sources/outside/main.swift" <<'SWIFT'
import Trellis
import TrellisTesting

let server = try LoopbackServer.http { _ in .text("hello from outside") }
let session = Session()
let (data, response) = try await session.data(server.url("/"))
await session.shutdown()
precondition(response.status.code == 200 && String(decoding: data, as: UTF8.self) == "hello from outside")
print("A static binary of an outside package made its request.")
SWIFT

cat > "$folder/Sources/core/main.swift" <<'SWIFT'
import TrellisCore

let session = Session()
print(try await session.string(CommandLine.arguments.last ?? ""))
await session.shutdown()
SWIFT

swift build --package-path "$folder" --static-swift-stdlib
binary=$(swift build --package-path "$folder" --static-swift-stdlib --show-bin-path)/outside
"$binary"

# What is linked into it has its name in the symbols. The other name shows that they are there.
grep -q FoundationEssentials "$binary"
if grep -q FoundationNetworking "$binary"; then
    echo "FoundationNetworking is linked into a program that uses Trellis alone." >&2
    exit 1
fi
echo "FoundationNetworking is not linked into it."

# A program with the core alone has none of the features.
core=${binary%/*}/core
grep -q TrellisDownloads "$binary"
if grep -qE 'Trellis(Caching|Diagnostics|Downloads|Events|NameServices|Upgrades|WebSockets)' "$core"; then
    echo "A feature is linked into a program that uses the core alone." >&2
    exit 1
fi
echo "A program with the core alone has $(stat -c %s "$core") bytes; with all features and the test kit $(stat -c %s "$binary")."

# The core and the test kit need no other package; the others are not even resolved.
resolved=$(grep -o '"identity" : "[^"]*"' "$folder/Package.resolved" | cut -d'"' -f4 | sort | tr '\n' ' ')
if [ "$resolved" != "swift-http-types " ]; then
    echo "A user of the core resolves more than swift-http-types: $resolved" >&2
    exit 1
fi
echo "A user of the core resolves swift-http-types alone."

# Checks that a user of a product with a trait resolves these of the packages that Trellis names, and none of its others. Packages that the
# named ones need are not compared, because they change with the versions of these.
check_trait() { # TRAIT PACKAGE…
    local trait=$1 folder=$folder-$1 named wanted resolved
    shift
    named=$(sed -n 's|.*\.package(url: ".*/\([^/"]*\)".*|\1|p' "$repository/Package.swift")
    wanted=$(printf '%s\n' swift-http-types "$@" | sort | tr '\n' ' ')
    mkdir -p "$folder/Sources/outside"
    cat > "$folder/Package.swift" <<SWIFT
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "outside",
    dependencies: [.package(name: "trellis", path: "$repository", traits: ["$trait"])],
    targets: [
        .executableTarget(name: "outside", dependencies: [.product(name: "Trellis$trait", package: "trellis")])
    ]
)
SWIFT
    echo 'print("not built")' > "$folder/Sources/outside/main.swift"
    # The versions that an earlier run has resolved would stay.
    rm -f "$folder/Package.resolved"
    swift package --package-path "$folder" resolve >&2
    resolved=$(grep -o '"identity" : "[^"]*"' "$folder/Package.resolved" | cut -d'"' -f4 | grep -xF "$named" | sort | tr '\n' ' ')
    if [ "$resolved" != "$wanted" ]; then
        echo "A user of the trait $trait resolves $resolved, and not $wanted" >&2
        exit 1
    fi
    echo "Of the packages of Trellis, a user of the trait $trait resolves $resolved"
}
check_trait Observability swift-distributed-tracing swift-log swift-metrics
check_trait Service swift-service-lifecycle swift-log
# swift-configuration itself needs the last two.
check_trait Configuration swift-configuration swift-log swift-service-lifecycle
