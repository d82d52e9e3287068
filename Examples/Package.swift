// swift-tools-version: 6.2
import PackageDescription

/// The settings of the code that the documentation shows, whose imports are those of a program with the usual settings.
let snippetSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]
let settings = snippetSettings + [.enableUpcomingFeature("MemberImportVisibility")]

let trellis = Target.Dependency.product(name: "Trellis", package: "trellis")
let testing = Target.Dependency.product(name: "TrellisTesting", package: "trellis")
let oauth = Target.Dependency.product(name: "TrellisOAuth", package: "trellis")
let signatures = Target.Dependency.product(name: "TrellisSignatures", package: "trellis")
let service = Target.Dependency.product(name: "TrellisService", package: "trellis")
let hummingbird: [Target.Dependency] = [
    .product(name: "Hummingbird", package: "hummingbird"), .product(name: "HummingbirdCore", package: "hummingbird"),
    .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "NIOCore", package: "swift-nio"),
]
let lifecycle: [Target.Dependency] = [
    .product(name: "Logging", package: "swift-log"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]

let package = Package(
    name: "trellis-examples",
    products: [
        .executable(name: "trellis", targets: ["TrellisCommand"]),
        .executable(name: "tour", targets: ["Tour"]),
        .executable(name: "fixture-server", targets: ["FixtureServer"]),
        .executable(name: "service-example", targets: ["ServiceExample"]),
        .executable(name: "in-process-example", targets: ["InProcessExample"]),
        .executable(name: "otlp-exporter", targets: ["OTLPExporter"]),
        .executable(name: "fetch-list", targets: ["FetchList"]),
    ],
    traits: [
        .trait(name: "Gateway", description: "The command trellis gateway, which needs the server of Hummingbird."),
        .default(enabledTraits: ["Gateway"]),
    ],
    dependencies: [
        // The name is given because the folder of the checkout can have any name.
        .package(name: "trellis", path: "..", traits: ["Observability", "Service", "Configuration"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // For the gateway and the services.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
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
        // The spelling of curl's options, of files of options, and of copied commands: text alone, and no dependency.
        .target(name: "CURLSyntax", swiftSettings: settings),
        .testTarget(name: "TerminalKitTests", dependencies: ["TerminalKit"], swiftSettings: settings),
        .testTarget(name: "CURLSyntaxTests", dependencies: ["CURLSyntax"], swiftSettings: settings),
        // The command-line client.
        .executableTarget(
            name: "TrellisCommand",
            dependencies: [
                trellis, oauth, signatures, "CURLSyntax", "TerminalKit",
                .target(name: "Gateway", condition: .when(traits: ["Gateway"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        // A tour of the framework on real traffic, with a server in the same process.
        .executableTarget(name: "Tour", dependencies: [trellis, testing, "TerminalKit"], swiftSettings: settings),
        // The code that the README and the pages of the documentation show. It is compiled and never run.
        .target(
            name: "Snippets",
            dependencies: [
                trellis, service, oauth, signatures, testing,
                .product(name: "TrellisConfiguration", package: "trellis"),
                .product(name: "Configuration", package: "swift-configuration"),
            ] + lifecycle,
            swiftSettings: snippetSettings),
        // A service in front of another one, and both in a single process without sockets.
        .target(
            name: "ServiceFront",
            dependencies: [trellis, service, .product(name: "Logging", package: "swift-log")] + hummingbird,
            swiftSettings: settings),
        .executableTarget(
            name: "ServiceExample",
            dependencies: [
                "ServiceFront", "TerminalKit", trellis, service,
                .product(name: "TrellisConfiguration", package: "trellis"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ] + hummingbird + lifecycle,
            swiftSettings: settings),
        .target(
            name: "HummingbirdTransport",
            dependencies: [
                trellis, testing, .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
            ] + hummingbird,
            swiftSettings: settings),
        .executableTarget(
            name: "InProcessExample",
            dependencies: ["HummingbirdTransport", "ServiceFront", trellis, testing, service] + hummingbird,
            swiftSettings: settings),
        // Spans and metrics as JSON for a collector, sent through Trellis itself.
        .executableTarget(
            name: "OTLPExporter",
            dependencies: [
                trellis, .product(name: "TrellisObservability", package: "trellis"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
        // Programs as users of the pages write them: the client of a service, a sender of webhooks, a chat, a program that was moved from
        // AsyncHTTPClient, each with the tests of its author, and a downloader.
        .target(name: "Programs", dependencies: [trellis, signatures], swiftSettings: settings),
        .executableTarget(name: "FetchList", dependencies: [trellis], swiftSettings: settings),
        .testTarget(name: "ProgramTests", dependencies: ["Programs", trellis, testing], swiftSettings: settings),
        // The server to which the tests of the client send requests.
        .executableTarget(name: "FixtureServer", dependencies: [testing], swiftSettings: settings),
        // Runs the programs, which are in the folder of the tests' own executable.
        .testTarget(
            name: "ClientTests",
            dependencies: [
                "TrellisCommand", "CURLSyntax", "FixtureServer", "ServiceExample", "InProcessExample", "OTLPExporter",
                "FetchList",
                testing,
            ],
            swiftSettings: settings),
    ]
)
