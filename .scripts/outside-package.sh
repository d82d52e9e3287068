#!/usr/bin/env bash
# Builds a package outside the repository that depends on Trellis by path, as users have it, into a binary with the Swift
# runtime inside, and runs that. It is a debug build, because the benchmarks build a release binary in the same way.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
# The folder stays between runs, so that only what changed is built again.
folder=${TMPDIR:-/tmp}/trellis-outside-$(id -u)
mkdir -p "$folder/Sources/outside"

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
            ])
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
