// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

let trellis = Target.Dependency.product(name: "Trellis", package: "trellis")
let testing = Target.Dependency.product(name: "TrellisTesting", package: "trellis")

let package = Package(
    name: "trellis-examples",
    products: [
        .executable(name: "trellis", targets: ["TrellisCommand"]),
        .executable(name: "tour", targets: ["Tour"]),
        .executable(name: "fixture-server", targets: ["FixtureServer"]),
    ],
    dependencies: [
        // Named, because its folder can have any name.
        .package(name: "trellis", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // Colours, a progress bar, and quantities for people. What the client and the tour share.
        .target(name: "TerminalKit", swiftSettings: settings),
        // The command-line client.
        .executableTarget(
            name: "TrellisCommand",
            dependencies: [
                trellis, "TerminalKit", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        // What the framework does, shown on real traffic with a server in the same process.
        .executableTarget(name: "Tour", dependencies: [trellis, testing, "TerminalKit"], swiftSettings: settings),
        // The server that test.sh asks.
        .executableTarget(name: "FixtureServer", dependencies: [testing], swiftSettings: settings),
    ]
)
