import TrellisCore

/// The exchanges of all calls that a recorder observes, put together from events and from the bodies that a step has received.
///
/// Events and bodies arrive in any order, because a monitor lags behind its session. An exchange is complete when its end was told and,
/// with a step, when the step has returned the body of its hop.
struct HARAssembly: Sendable {
    /// The part of a step in one hop: the body that it receives.
    private struct Capture: Sendable {
        let id: Int
        let attempt: Int
        var isOpen = true
        /// The body; `nil` if there is none, or if the hop has not ended.
        var body: CapturedBody?
    }

    /// A call with its exchanges.
    private struct ObservedCall: Sendable {
        var exchanges: [HARExchange] = []
        var captures: [Capture] = []
        var hasEnded = false

        /// Returns whether the body of an attempt is being received.
        func isCapturing(_ attempt: Int) -> Bool { captures.contains { $0.isOpen && $0.attempt == attempt } }
    }

    /// The number of later calls after which a call without events has lost them: more than a monitor's queue has room for.
    private static let lag: UInt64 = 5_000
    private static let firstPruning = 1_000

    private var calls: [UInt64: ObservedCall] = [:]
    /// The largest number of a call that was told.
    private var newest: UInt64 = 0
    /// The number up to which calls may have lost events.
    private var endOfLosses: UInt64 = 0
    /// The exchanges whose ends were lost, and which are returned next.
    private var lost: [HARExchange] = []
    private var lastCapture = 0
    /// The number of events that were lost.
    private(set) var droppedEventCount = 0
    /// The number of calls at which those without events are removed.
    private var nextPruning = firstPruning

    /// Whether no exchange is under way.
    var isEmpty: Bool { calls.isEmpty }

    /// The number of calls that are observed.
    var callCount: Int { calls.count }

    /// Takes an event, and returns the exchanges that it completes.
    mutating func take(_ event: RequestEvent) -> [HARExchange] {
        let instant = event.elapsed.wholeNanoseconds
        switch event.kind {
        case .created: begin(event.callID)
        case .queued(let request):
            begin(event.callID)
            settle(event.callID)
            calls[event.callID]?.exchanges.append(
                HARExchange(
                    callID: event.callID, callStart: event.callStart, attempt: event.attempt, request: request,
                    queued: instant))
        case .admitted: change(event) { $0.timeline.admitted = instant }
        case .connected(let connection):
            // Another connection takes the place of one that was lost.
            change(event) { exchange in
                (exchange.timeline.connected, exchange.timeline.sent) = (instant, nil)
                (exchange.localPort, exchange.streamNumber) = (connection.localPort, connection.streamNumber)
            }
        case .requestHeadSent: break
        case .requestSent: change(event) { $0.timeline.sent = instant }
        case .head(let head):
            change(event) { exchange in
                exchange.timeline.head = instant
                exchange.head = head
            }
        case .evaluatingServerTrust: removeLast(event)
        case .exchangeEnded(let metrics, let failure):
            end(event, HARExchange.End(metrics: metrics, failure: failure, instant: instant))
        case .cacheUsed(let status):
            change(event, isOpen: false) { $0.cacheStatus = status }
            settle(event.callID)
        case .finished, .failed:
            settle(event.callID)
            calls[event.callID]?.hasEnded = true
        case .eventsDropped(let count):
            droppedEventCount += count
            endOfLosses = newest + Self.lag
            settle(event.callID)
        default: settle(event.callID)
        }
        return complete(event.callID)
    }

    /// Begins the hop of a step, and returns the number of its capture.
    mutating func beginCapture(callID: UInt64, attempt: Int) -> Int {
        begin(callID)
        lastCapture += 1
        calls[callID]?.captures.append(Capture(id: lastCapture, attempt: attempt))
        return lastCapture
    }

    /// Ends the hop of a step, and returns the exchanges that are complete now.
    ///
    /// - Parameter body: The body that was received; `nil` if there is none.
    mutating func endCapture(_ id: Int, callID: UInt64, body: CapturedBody?) -> [HARExchange] {
        guard let index = calls[callID]?.captures.firstIndex(where: { $0.id == id }) else { return [] }
        if let body {
            calls[callID]?.captures[index].isOpen = false
            calls[callID]?.captures[index].body = body
        } else {
            calls[callID]?.captures.remove(at: index)
        }
        return complete(callID)
    }

    /// Removes all exchanges, and returns those whose end has not been told and those that wait for their bodies.
    mutating func takeAll() -> [HARExchange] {
        let left = calls.sorted { $0.key < $1.key }.flatMap { $1.exchanges }
        defer { (calls, lost) = ([:], []) }
        return lost + left
    }

    // MARK: Exchanges

    private mutating func begin(_ callID: UInt64) {
        newest = max(newest, callID)
        guard calls[callID] == nil else { return }
        if calls.count >= nextPruning { prune() }
        calls[callID] = ObservedCall()
    }

    /// Removes the calls whose events were lost, and keeps their exchanges, which are returned next.
    private mutating func prune() {
        let forgotten = calls.filter { id, call in isForgotten(id, call) }
        for (id, call) in forgotten.sorted(by: { $0.key < $1.key }) {
            calls[id] = nil
            for var exchange in call.exchanges {
                exchange.hasLostEnd = exchange.end == nil
                lost.append(exchange)
            }
        }
        nextPruning = max(Self.firstPruning, 2 * calls.count)
    }

    /// Returns whether the events of a call were lost: later calls are far ahead, no step is at work for it, and no exchange was told. A
    /// call with exchanges may take long; its events were lost only if the recorder has lost some.
    private func isForgotten(_ id: UInt64, _ call: ObservedCall) -> Bool {
        guard id + Self.lag < newest, !call.captures.contains(where: \.isOpen) else { return false }
        return call.exchanges.isEmpty || id <= endOfLosses
    }

    /// Changes the last exchange of the attempt of an event.
    ///
    /// - Parameter isOpen: Whether the exchange must be under way.
    private mutating func change(
        _ event: RequestEvent, isOpen: Bool = true, _ body: (inout HARExchange) -> Void
    ) {
        guard let index = lastIndex(event, isOpen: isOpen), var exchange = calls[event.callID]?.exchanges[index] else {
            return
        }
        body(&exchange)
        calls[event.callID]?.exchanges[index] = exchange
    }

    private func lastIndex(_ event: RequestEvent, isOpen: Bool) -> Int? {
        calls[event.callID]?.exchanges.lastIndex { $0.attempt == event.attempt && (!isOpen || $0.end == nil) }
    }

    /// Removes an exchange that has only brought the certificates of the server.
    private mutating func removeLast(_ event: RequestEvent) {
        guard let index = lastIndex(event, isOpen: true) else { return }
        calls[event.callID]?.exchanges.remove(at: index)
    }

    /// Ends the first exchange of an attempt that has not ended: the end of a redirect whose body was dropped may be told late.
    private mutating func end(_ event: RequestEvent, _ end: HARExchange.End) {
        guard var call = calls[event.callID],
            let index = call.exchanges.firstIndex(where: { $0.attempt == event.attempt && $0.end == nil })
        else { return }
        call.exchanges[index].end = end
        call.exchanges[index].isSettled = call.hasEnded
        calls[event.callID] = call
    }

    private mutating func settle(_ callID: UInt64) {
        guard let exchanges = calls[callID]?.exchanges else { return }
        for index in exchanges.indices where exchanges[index].end != nil {
            calls[callID]?.exchanges[index].isSettled = true
        }
    }

    /// Removes and returns the exchanges of a call that are complete.
    private mutating func complete(_ callID: UInt64) -> [HARExchange] {
        var complete = lost
        lost = []
        guard var call = calls[callID] else { return complete }
        var rest: [HARExchange] = []
        for var exchange in call.exchanges {
            guard exchange.end != nil, exchange.isSettled else {
                rest.append(exchange)
                continue
            }
            if let index = Self.capture(of: exchange, in: call.captures) {
                exchange.body = call.captures.remove(at: index).body
            } else if exchange.head != nil, call.isCapturing(exchange.attempt) {
                rest.append(exchange)
                continue
            }
            complete.append(exchange)
        }
        call.exchanges = rest
        let isOver = call.hasEnded && rest.isEmpty && !call.captures.contains(where: \.isOpen)
        calls[callID] = isOver ? nil : call
        return complete
    }

    /// Returns the index of the capture that has the body of an exchange: of those with its status, the one whose response began at the
    /// nearest time, because a hop may have had several exchanges, and others may have come from a cache.
    private static func capture(of exchange: HARExchange, in captures: [Capture]) -> Int? {
        guard let end = exchange.end, let status = exchange.head?.status.code else { return nil }
        let matching = captures.indices.filter { index in
            captures[index].attempt == exchange.attempt && captures[index].body?.status == status
        }
        return matching.min { one, other in
            distance(captures[one], end.metrics) < distance(captures[other], end.metrics)
        }
    }

    private static func distance(_ capture: Capture, _ metrics: Metrics) -> UInt64 {
        ((capture.body?.firstByte ?? 0) - metrics.firstByteTime).magnitude
    }
}

extension Duration {
    /// The duration in whole nanoseconds, limited to the range of `Int64`.
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds.magnitude < 9_000_000_000 else { return seconds < 0 ? .min : .max }
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
