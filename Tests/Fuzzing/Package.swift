// swift-tools-version: 6.2
import PackageDescription

// The build runs through run.sh alone, with the fuzzer's instrumentation.
let package = Package(
    name: "trellis-fuzzing",
    dependencies: [
        .package(name: "trellis", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.5.1"),
    ],
    targets: [
        .target(name: "CFuzzer"),
        // All fuzzers in one executable: the first argument selects the fuzzer, the other arguments are libFuzzer's.
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
