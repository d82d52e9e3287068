import CurlEngine

@testable import TrellisCore

/// A monitor that keeps the words of its events.
final class EventWords: EventMonitor {
    let eventDetail: EventDetail
    private let events = Locked<[RequestEvent]>([])

    init(_ detail: EventDetail = .connections) { eventDetail = detail }

    var all: [RequestEvent] { events.withLock { $0 } }

    /// The words of the events so far.
    var words: [String] { all.map(\.word) }

    func handle(_ event: RequestEvent) async { events.withLock { $0.append(event) } }

    /// Returns the words of the events up to a last one.
    func words(until last: String) async throws -> [String] {
        while !words.contains(last) {
            try Task.checkCancellation()
            await Task.yield()
        }
        return Array(words.prefix { $0 != last }) + [last]
    }
}

extension Session {
    /// Waits until all monitors have handled the events so far, and ends the session. The shutdown itself waits for them for two seconds
    /// of the system's time, which a busy machine may exceed.
    func shutdownAfterEvents() async {
        await hub.finish(within: .seconds(50))
        await shutdown()
    }
}
