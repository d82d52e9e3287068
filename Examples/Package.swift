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
        // The name is given because the folder of the checkout can have any name.
        .package(name: "trellis", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // Terminal output of the client and the tour: colours, progress bars, quantities in readable units.
        .target(name: "TerminalKit", swiftSettings: settings),
        // The command-line client.
        .executableTarget(
            name: "TrellisCommand",
            dependencies: [
                trellis, "TerminalKit", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        // A tour of the framework on real traffic, with a server in the same process.
        .executableTarget(name: "Tour", dependencies: [trellis, testing, "TerminalKit"], swiftSettings: settings),
        // The code that the README and the pages of the documentation show. It is compiled and never run.
        .target(name: "Snippets", dependencies: [trellis], swiftSettings: settings),
        // The server to which test.sh sends requests.
        .executableTarget(name: "FixtureServer", dependencies: [testing], swiftSettings: settings),
    ]
)
