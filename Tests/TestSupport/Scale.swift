import FoundationEssentials

/// The number of cases in the tests that try many.
package enum Scale {
    /// Whether all cases run, as with `Tests/run.sh --all`. The everyday run has a few of them.
    package static let isFull = ProcessInfo.processInfo.environment["TRELLIS_TEST_ALL"] != nil

    /// Returns the number of cases of the present run.
    ///
    /// - Parameters:
    ///   - few: The number of cases in the everyday run.
    ///   - all: The number of cases with `Tests/run.sh --all`.
    package static func count(_ few: Int, all: Int) -> Int { isFull ? all : few }
}
