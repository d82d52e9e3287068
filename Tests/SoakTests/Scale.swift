import FoundationEssentials

/// The size of the soaks: small ones in the everyday run.
enum Scale {
    /// Whether the soaks have their full size, as with `Tests/run.sh --all`.
    static let isFull = ProcessInfo.processInfo.environment["TRELLIS_TEST_ALL"] != nil
}
