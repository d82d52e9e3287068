// swift-tools-version: 6.2
import PackageDescription

// Only run.sh builds the package, with the fuzzer's instrumentation.
let package = Package(
    name: "trellis-fuzzing",
    dependencies: [
        .package(name: "trellis", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.5.1"),
    ],
    targets: [
        .target(name: "CFuzzer"),
        // All fuzzers are in one executable. The first argument selects the fuzzer; the other arguments are libFuzzer's.
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer",
                .product(name: "TrellisCaching", package: "trellis"),
                .product(name: "TrellisCore", package: "trellis"),
                .product(name: "TrellisWebSockets", package: "trellis"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]),
    ]
)
