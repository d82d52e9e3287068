import Synchronization
import Trellis

/// The mode of `--stream sse`: events over as many connections as necessary.
extension Client {
    /// Delivers events to the output up to the limit, or until the server refuses further connections.
    func events(to output: inout some Output, _ steps: Steps) async -> Outcome {
        let start = ContinuousClock.now
        var outcome = Outcome(url: options.url)
        let latest = LatestHead()
        do {
            try await deliverEvents(to: &output, steps, latest)
            if let head = latest.head { outcome.take(head) }
            outcome.metrics.total = .now - start
            try await dumpHeads()
        } catch is ReaderHasGone {
        } catch {
            if let head = latest.head { outcome.take(head) }
            outcome.fail(RequestFailure(error), after: .now - start)
            try? await dumpHeads()
        }
        return outcome
    }

    private func deliverEvents<O: Output>(to output: inout O, _ steps: Steps, _ latest: LatestHead) async throws {
        var request = try options.makeRequest()
        // A POST is sent once.
        if request.method != .post, let source = try options.sourceReadOnce() {
            throw RequestFailure(
                "body_not_replayable", "\(source) cannot be read again for each connection to the events")
        }
        // The deadline applies to all connections together.
        let deadline = request.timeouts?.total
        request.timeouts?.total = nil
        let session = Session(configuration: try sessionConfiguration(steps))
        let events = session.eventSource(request, onResponse: { latest.head = $0 })
        let (limit, begun) = (options.streaming.limit, output)
        let end = await withTaskGroup(of: RaceEnd<O>.self) { group in
            group.addTask { await Self.deliver(events, upTo: limit, to: begun) }
            if let deadline {
                group.addTask {
                    // The sleep is ended early when the events have ended, or everything is cancelled.
                    await (try? Task.sleep(for: deadline)) == nil ? .undecided : .expired
                }
            }
            var end = RaceEnd<O>.undecided, hasExpired = false
            for await result in group {
                if case .expired = result { hasExpired = true }
                if case .ended = result { end = result }
                if hasExpired || end.isDecided { group.cancelAll() }
            }
            return hasExpired ? end.expired(after: deadline) : end
        }
        await finishRecording(session)
        guard case .ended(let ended, let failure) = end else { return }
        output = ended
        if let failure { throw failure }
    }

    /// Delivers events up to the limit. Returns the output in its last state, with the error that ended the events, if any.
    private static func deliver<O: Output>(
        _ events: EventSource, upTo limit: Int?, to output: O
    ) async -> RaceEnd<O> {
        var (output, count) = (output, 0)
        do {
            for try await event in events {
                try await output.item(.event(event))
                count += 1
                if count == limit { break }
            }
            return .ended(output, nil)
        } catch {
            return .ended(output, error)
        }
    }
}

/// The head of the latest response.
private final class LatestHead: Sendable {
    private let storage = Mutex<Response?>(nil)

    var head: Response? {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}

/// The result of a race between events and their deadline.
private enum RaceEnd<O: Output> {
    /// The end of the events, with the output in its last state, and the error that ended the events, if any.
    case ended(O, (any Error)?)
    /// The end of the deadline.
    case expired
    /// The end of a sleep that was ended early, or the state before any end.
    case undecided

    var isDecided: Bool { if case .ended = self { true } else { false } }

    /// Returns the result with a timeout as its error, if the deadline cancelled the events.
    func expired(after deadline: Duration?) -> RaceEnd {
        guard let deadline, case .ended(let output, is CancellationError) = self else { return self }
        return .ended(output, RequestFailure("timeout_deadline", "timed out after \(deadline) of events"))
    }
}
