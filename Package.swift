// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

func observed(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["Observability"]))
}
let observability = [
    observed("Logging", "swift-log"), observed("CoreMetrics", "swift-metrics"),
    observed("Tracing", "swift-distributed-tracing"),
]
let service: [Target.Dependency] = [
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
    .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Service"])),
]
let configuration: [Target.Dependency] = [
    .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"]))
]

let package = Package(
    name: "trellis",
    products: [
        .library(name: "Trellis", targets: ["Trellis"]),
        .library(name: "TrellisCore", targets: ["TrellisCore"]),
        .library(name: "TrellisCaching", targets: ["TrellisCaching"]),
        .library(name: "TrellisDiagnostics", targets: ["TrellisDiagnostics"]),
        .library(name: "TrellisDownloads", targets: ["TrellisDownloads"]),
        .library(name: "TrellisEvents", targets: ["TrellisEvents"]),
        .library(name: "TrellisNameServices", targets: ["TrellisNameServices"]),
        .library(name: "TrellisOAuth", targets: ["TrellisOAuth"]),
        .library(name: "TrellisRedis", targets: ["TrellisRedis"]),
        .library(name: "TrellisSignatures", targets: ["TrellisSignatures"]),
        .library(name: "TrellisUpgrades", targets: ["TrellisUpgrades"]),
        .library(name: "TrellisWebSockets", targets: ["TrellisWebSockets"]),
        .library(name: "TrellisFoundation", targets: ["TrellisFoundation"]),
        .library(name: "TrellisTesting", targets: ["TrellisTesting"]),
        .library(name: "TrellisTestTraits", targets: ["TrellisTestTraits"]),
        .library(name: "TrellisObservability", targets: ["TrellisObservability"]),
        .library(name: "TrellisService", targets: ["TrellisService"]),
        .library(name: "TrellisConfiguration", targets: ["TrellisConfiguration"]),
    ],
    // The product of the same name is empty without its trait, and so its dependencies are not resolved.
    traits: [
        .trait(name: "Observability", description: "TrellisObservability: logs, metrics and traces"),
        .trait(name: "Service", description: "TrellisService: a session as a service with a graceful shutdown"),
        .trait(
            name: "Configuration", description: "TrellisConfiguration: settings from the environment and from files"),
        .trait(name: "Redis", description: "TrellisRedis: what several processes share through Redis or Valkey"),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    ],
    targets: [
        // The C code of programs: typed wrappers of libcurl's variadic API, OpenSSL, nghttp2, codecs, system calls. Only it names <curl/curl.h>.
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        // libcurl on epoll threads, one for each engine, that are also executors. Knows nothing of HTTP policy.
        .target(name: "CurlEngine", dependencies: ["CCurl"], swiftSettings: settings),
        // Requests, responses, sessions and their steps. Knows none of the features.
        .target(
            name: "TrellisCore",
            dependencies: ["CurlEngine", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // The cache of responses (RFC 9111), in memory and on disk.
        .target(
            name: "TrellisCaching",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // Server-sent events over as many connections as needed.
        .target(
            name: "TrellisEvents",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // Recordings of what was sent and received (HAR), and the command line with which curl sends a request.
        .target(
            name: "TrellisDiagnostics",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // Downloads to files: resumed, in parts and in batches.
        .target(
            name: "TrellisDownloads",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // Addresses and proxies from servers and scripts: DNS over HTTPS, and PAC.
        .target(
            name: "TrellisNameServices",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // Tokens of authorization servers (OAuth 2.0), as the credential of requests.
        .target(
            name: "TrellisOAuth",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // What hosts ask of later requests: https alone (HSTS), and alternative services (Alt-Svc).
        .target(
            name: "TrellisUpgrades",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // WebSockets (RFC 6455).
        .target(
            name: "TrellisWebSockets",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // An umbrella: the core and its features under one name.
        .target(
            name: "Trellis",
            dependencies: [
                "TrellisCaching", "TrellisCore", "TrellisDiagnostics", "TrellisDownloads", "TrellisEvents",
                "TrellisNameServices", "TrellisUpgrades", "TrellisWebSockets",
            ],
            swiftSettings: settings),
        // Signatures of requests and responses, and digests of bodies. Not under the umbrella: few programs sign.
        .target(
            name: "TrellisSignatures",
            dependencies: ["CurlEngine", "TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // URLRequest and HTTPURLResponse. The only place that links FoundationNetworking.
        .target(
            name: "TrellisFoundation",
            dependencies: ["TrellisCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // TLS servers without sockets, and certificates made at run time. Through the OpenSSL that libcurl has loaded.
        .target(name: "CServerTLS", dependencies: ["CCurl"]),
        .target(
            name: "TrellisTesting",
            dependencies: [
                "TrellisCaching", "TrellisCore", "TrellisDiagnostics", "TrellisWebSockets", "CServerTLS", "CurlEngine",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        // The traits of Swift Testing. A target of its own, because a program that links Swift Testing runs in tests alone.
        .target(
            name: "TrellisTestTraits",
            dependencies: ["TrellisCore", "TrellisTesting", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        .target(
            name: "TrellisObservability",
            dependencies: ["TrellisCore", "CurlEngine", .product(name: "HTTPTypes", package: "swift-http-types")]
                + observability,
            swiftSettings: settings),
        .target(name: "TrellisService", dependencies: ["TrellisCore"] + service, swiftSettings: settings),
        // The decoder of Redis' protocol, through hiredis. Empty without the trait.
        .target(
            name: "CHiredis", cSettings: [.define("TRELLIS_REDIS", .when(traits: ["Redis"]))],
            linkerSettings: [.linkedLibrary("hiredis", .when(traits: ["Redis"]))]),
        // What the processes of a fleet share through a server of Redis or Valkey.
        .target(
            name: "TrellisRedis",
            dependencies: [
                "CHiredis", "CurlEngine", "TrellisCaching", "TrellisCore", "TrellisOAuth",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .target(
            name: "TrellisConfiguration",
            dependencies: ["TrellisCaching", "TrellisCore", "TrellisNameServices", "TrellisUpgrades"] + configuration,
            swiftSettings: settings),
        .testTarget(
            name: "CurlEngineTests", dependencies: ["CurlEngine", "TestSupport", "TrellisCore", "TrellisTesting"],
            swiftSettings: settings),
        // What the tests of several targets need.
        .target(
            name: "TestSupport", dependencies: ["CurlEngine", "TrellisCaching", "TrellisCore", "TrellisTesting"],
            path: "Tests/TestSupport",
            swiftSettings: settings),
        .testTarget(
            name: "TrellisCoreTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TrellisCaching", "TrellisCore", "TrellisTestTraits", "TrellisTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisCachingTests",
            dependencies: ["CurlEngine", "TestSupport", "TrellisCaching", "TrellisCore", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisDiagnosticsTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TrellisCaching", "TrellisCore", "TrellisDiagnostics", "TrellisTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisDownloadsTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TrellisCaching", "TrellisCore", "TrellisDownloads", "TrellisTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisEventsTests",
            dependencies: ["CurlEngine", "TestSupport", "TrellisCore", "TrellisEvents", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisNameServicesTests",
            dependencies: ["CurlEngine", "TrellisCore", "TrellisNameServices", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisOAuthTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TrellisCore", "TrellisDiagnostics", "TrellisOAuth", "TrellisTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisRedisTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TrellisCaching", "TrellisCore", "TrellisOAuth", "TrellisRedis",
                "TrellisTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisSignaturesTests",
            dependencies: ["CurlEngine", "TrellisCore", "TrellisSignatures", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisUpgradesTests",
            dependencies: [
                "CurlEngine", "TestSupport", "TrellisCaching", "TrellisCore", "TrellisTesting", "TrellisUpgrades",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisWebSocketsTests",
            dependencies: ["CurlEngine", "TestSupport", "TrellisCore", "TrellisTesting", "TrellisWebSockets"],
            swiftSettings: settings),
        .testTarget(name: "TrellisTests", dependencies: ["Trellis", "TrellisTesting"], swiftSettings: settings),
        .testTarget(
            name: "TrellisFoundationTests", dependencies: ["Trellis", "TrellisFoundation", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisTestingTests", dependencies: ["CurlEngine", "TestSupport", "Trellis", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisTestTraitsTests",
            dependencies: ["CurlEngine", "Trellis", "TrellisTestTraits", "TrellisTesting"], exclude: ["Cassettes"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisObservabilityTests",
            dependencies: [
                "CurlEngine", "TestSupport", "Trellis", "TrellisObservability", "TrellisTesting",
                observed("InMemoryLogging", "swift-log"), observed("MetricsTestKit", "swift-metrics"),
                observed("InMemoryTracing", "swift-distributed-tracing"),
            ] + observability, swiftSettings: settings),
        .testTarget(
            name: "TrellisServiceTests",
            dependencies: ["TrellisCaching", "TrellisCore", "TrellisNameServices", "TrellisService", "TrellisTesting"]
                + service,
            swiftSettings: settings),
        .testTarget(
            name: "TrellisConfigurationTests",
            dependencies: [
                "TrellisCaching", "TrellisCore", "TrellisConfiguration", "TrellisNameServices", "TrellisUpgrades",
            ] + configuration,
            swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "CacheWorker", "TestSupport", "Trellis", "TrellisOAuth", "TrellisRedis", "TrellisTestTraits",
                "TrellisTesting",
            ],
            swiftSettings: settings),
        // A process for tests that kill processes.
        .executableTarget(
            name: "CacheWorker",
            dependencies: [
                "CurlEngine", "Trellis", "TrellisTesting", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/CacheWorker", swiftSettings: settings),
        .testTarget(name: "ConventionTests", swiftSettings: settings),
        .testTarget(
            name: "SoakTests", dependencies: ["TestSupport", "Trellis", "TrellisTesting"], swiftSettings: settings),
    ]
)
