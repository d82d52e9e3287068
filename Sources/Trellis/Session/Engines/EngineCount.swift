private import FoundationEssentials

/// The number of engines of a session. An engine is a thread with its own libcurl and its own connections.
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
    /// The time to spare, in processors, from which an engine is added. Tests set zero, with which the time is not read.
    var spareProcessors = 0.5

    /// One engine until its thread is busy most of the time; then more, at most one for each core of the machine, while half a processor or
    /// more is to spare: an engine that takes its time from the server, or from the application's own work, serves no more requests, and
    /// makes each of them dearer. When there is less to do, new requests go to fewer engines again.
    public static let automatic = EngineCount(initial: 1, maximum: max(ProcessInfo.processInfo.activeProcessorCount, 1))

    /// One engine.
    public static let one = EngineCount.fixed(1)

    /// A fixed number of engines; at least one, and at most 1,024: the nearest of these takes the place of any other number, so that
    /// `.fixed(0)` is one engine. The thread of an engine starts with its first request.
    public static func fixed(_ count: Int) -> EngineCount {
        let count = min(max(count, 1), 1_024)
        return EngineCount(initial: count, maximum: count)
    }

    /// The number of engines as text: `1 to 8 engines`.
    public var description: String {
        let count = initial == maximum ? "\(maximum)" : "\(initial) to \(maximum)"
        return maximum == 1 ? "1 engine" : count + " engines"
    }
}
