import FoundationEssentials

/// The size of the cases in the tests whose everyday cases are small.
enum Scale {
    /// Whether the largest cases run, as with `Tests/run.sh --all`.
    static let isFull = ProcessInfo.processInfo.environment["TRELLIS_TEST_ALL"] != nil
}
