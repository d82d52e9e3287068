import Foundation

/// The size of the tests whose point is a large number: small in the everyday run, full with `Tests/run.sh --all`.
enum Scale {
    /// Whether the tests run in full.
    static let isFull = ProcessInfo.processInfo.environment["TRELLIS_TEST_ALL"] != nil
}
