// swift-tools-version: 6.2
import PackageDescription

// Built by run.sh alone, with the fuzzer's instrumentation.
let package = Package(
    name: "trellis-fuzzing",
    dependencies: [
        .package(name: "trellis", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.5.1"),
    ],
    targets: [
        .target(name: "CFuzzer"),
        // All fuzzers: the first argument says which, the others are libFuzzer's.
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer",
                .product(name: "Trellis", package: "trellis"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]),
    ]
)
