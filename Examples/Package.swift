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
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // For the gateway alone. Without traits, its configuration package is not built.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
    ],
    targets: [
        // Terminal output of the client and the tour: colours, progress bars, quantities in readable units.
        .target(name: "TerminalKit", swiftSettings: settings),
        // The reverse proxy, on the server of Hummingbird. A target of its own, because nothing else needs that server.
        .target(
            name: "Gateway",
            dependencies: [
                trellis, .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        // The command-line client.
        .executableTarget(
            name: "TrellisCommand",
            dependencies: [
                trellis, "Gateway", "TerminalKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
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
