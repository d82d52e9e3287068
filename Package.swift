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

let package = Package(
    name: "trellis",
    products: [
        .library(name: "Trellis", targets: ["Trellis"]),
        .library(name: "TrellisFoundation", targets: ["TrellisFoundation"]),
        .library(name: "TrellisTesting", targets: ["TrellisTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0")
    ],
    targets: [
        // All C code: typed wrappers of libcurl's variadic API, OpenSSL, codecs, system calls. The only place that includes <curl/curl.h>.
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        // libcurl on epoll threads, one for each engine, that are also executors. Knows nothing of HTTP policy.
        .target(name: "CurlEngine", dependencies: ["CCurl"], swiftSettings: settings),
        .target(
            name: "Trellis",
            dependencies: ["CurlEngine", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        // URLRequest and HTTPURLResponse. The only place that links FoundationNetworking.
        .target(
            name: "TrellisFoundation",
            dependencies: ["Trellis", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        .target(
            name: "TrellisTesting",
            dependencies: ["Trellis", "CurlEngine", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings),
        .testTarget(name: "CurlEngineTests", dependencies: ["CurlEngine", "TrellisTesting"], swiftSettings: settings),
        .testTarget(name: "TrellisTests", dependencies: ["Trellis", "TrellisTesting"], swiftSettings: settings),
        .testTarget(
            name: "TrellisFoundationTests", dependencies: ["Trellis", "TrellisFoundation", "TrellisTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TrellisTestingTests", dependencies: ["Trellis", "TrellisTesting"], swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests", dependencies: ["Trellis", "TrellisTesting", "CacheWorker"],
            swiftSettings: settings),
        // A process for tests that kill processes.
        .executableTarget(
            name: "CacheWorker",
            dependencies: [
                "CurlEngine", "Trellis", "TrellisTesting", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/CacheWorker", swiftSettings: settings),
        .testTarget(name: "ConventionTests", swiftSettings: settings),
        .testTarget(name: "SoakTests", dependencies: ["Trellis", "TrellisTesting"], swiftSettings: settings),
    ]
)

// Under a sanitizer, the other tests take longer to build than the soak takes to run.
if Context.environment["TRELLIS_SOAK_ALONE"] != nil {
    package.targets.removeAll { target in
        target.type == .test && target.name != "SoakTests" || target.name == "CacheWorker"
    }
}
