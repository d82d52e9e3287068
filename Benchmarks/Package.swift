// swift-tools-version: 6.2
import PackageDescription

/// Whether only Trellis and the C program are measured, and no peer is fetched or built.
let withoutPeers = Context.environment["TRELLIS_BENCHMARKS_WITHOUT_PEERS"] != nil

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

let package = Package(
    name: "trellis-benchmarks",
    dependencies: [
        .package(name: "trellis", path: "..", traits: ["Observability"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.5.1"),
    ],
    targets: [
        // Command line, clock, CPU time, memory and percentiles, which are the same for the C program and the Swift clients.
        .target(name: "CMeasure"),
        // Shared code of the Swift clients: the kinds of work, over a protocol that each client implements.
        .target(name: "ClientKit", dependencies: ["CMeasure"], swiftSettings: settings),
        .executableTarget(
            name: "client-trellis",
            dependencies: [
                "ClientKit",
                .product(name: "Trellis", package: "trellis"),
                .product(name: "TrellisObservability", package: "trellis"),
                .product(name: "TrellisTesting", package: "trellis"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "client-libcurl", dependencies: ["CMeasure"], linkerSettings: [.linkedLibrary("curl")]),
        // The orchestrator, which starts the servers, lets the clients take turns, prints the table and writes the JSON.
        .executableTarget(name: "compare", swiftSettings: settings),
        // The test server, with late responses, no responses and an upload sink. nginx serves the rest.
        .executableTarget(name: "server", dependencies: ["CMeasure"]),
        // The supervisor of a command, which cannot outlive the benchmark.
        .executableTarget(name: "supervise"),
    ],
    cLanguageStandard: .gnu17
)

if !withoutPeers {
    package.dependencies += [
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    ]
    package.targets += [
        .executableTarget(name: "client-urlsession", dependencies: ["ClientKit"], swiftSettings: settings),
        .executableTarget(
            name: "client-async-http-client",
            dependencies: [
                "ClientKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "_NIOFileSystem", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings),
    ]
}
