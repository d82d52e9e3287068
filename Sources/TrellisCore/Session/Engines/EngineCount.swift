private import CurlEngine
private import FoundationEssentials

/// The number of engines of a session. An engine is a thread with connections.
///
/// One engine serves tens of thousands of small requests per second. More engines use more cores. Limits, fairness and priorities hold for
/// all engines together.
public struct EngineCount: Sendable, Hashable, CustomStringConvertible {
    /// The number of engines at the start.
    let initial: Int
    /// The maximum number of engines.
    let maximum: Int
    /// The share of the time from which an engine counts as busy. Tests set a smaller one.
    var busyShare = 0.75
    /// The number of idle processors from which an engine is added. With zero, which tests set, the idle time is not read.
    var idleProcessors = 0.5

    /// One engine at first. Another one is added when the threads of all engines are busy most of the time and at least half a core is idle
    /// or runs only work of low priority (niceness). Without an idle core, another engine would take processor time from the server or the
    /// application. When there is less to do, new requests go to fewer engines again.
    ///
    /// The maximum is one engine for each core on which the process may run, and no more than a container's limit on processor time allows
    /// (the quota of its cgroups, rounded up; read once for each process). If the system does not report
    /// idle time (`/proc/stat`), the load of the engines alone decides.
    ///
    /// A session with a clock of yours, such as a test's, has one engine, so that a busy machine makes no difference.
    public static let automatic = EngineCount(
        initial: 1,
        maximum: maximum(cores: ProcessInfo.processInfo.activeProcessorCount, limit: ProcessorLimit.processors))

    /// One engine.
    public static let one = EngineCount.fixed(1)

    /// A fixed number of engines; at least one, and at most 1,024: the nearest of these takes the place of any other number, so that
    /// `.fixed(0)` is one engine. The thread of an engine starts with its first request.
    public static func fixed(_ count: Int) -> EngineCount {
        let count = min(max(count, 1), 1_024)
        return EngineCount(initial: count, maximum: count)
    }

    /// Returns the maximum number of engines for so many cores. The process may use the time of `limit` of them; `nil` for all.
    static func maximum(cores: Int, limit: Double?) -> Int {
        let cores = max(cores, 1)
        return limit.map { min(cores, Int(min($0, 1_024).rounded(.up))) } ?? cores
    }

    /// The number of engines as text: `1 to 8 engines`.
    public var description: String {
        let count = initial == maximum ? "\(maximum)" : "\(initial) to \(maximum)"
        return maximum == 1 ? "1 engine" : count + " engines"
    }
}
