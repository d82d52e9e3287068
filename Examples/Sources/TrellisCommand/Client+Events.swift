import Synchronization
import Trellis

/// `--stream sse`: events over as many connections as it takes.
extension Client {
    /// Hands over events up to the limit, or until the server wants no more connections.
    func events(to output: inout some Output, _ steps: Steps) async -> Outcome {
        let start = ContinuousClock.now
        var outcome = Outcome(url: options.url)
        let latest = LatestHead()
        do {
            try await deliverEvents(to: &output, steps, latest)
            if let head = latest.head { outcome.take(head) }
            outcome.metrics.total = .now - start
        } catch is ReaderHasGone {
        } catch {
            if let head = latest.head { outcome.take(head) }
            outcome.fail(RequestFailure(error), after: .now - start)
        }
        return outcome
    }

    private func deliverEvents<O: Output>(to output: inout O, _ steps: Steps, _ latest: LatestHead) async throws {
        if let source = try options.sourceReadOnce() {
            throw RequestFailure(
                "body_not_replayable", "\(source) cannot be read again for each connection to the events")
        }
        var request = try options.makeRequest()
        // It holds for all connections together.
        let deadline = request.timeouts?.total
        request.timeouts?.total = nil
        let events = Session(configuration: options.sessionConfiguration(steps)).events(
            from: request, whenAnswered: { latest.head = $0 })
        let (limit, begun) = (options.limit, output)
        let end = await withTaskGroup(of: RaceEnd<O>.self) { group in
            group.addTask { await Self.deliver(events, upTo: limit, to: begun) }
            if let deadline {
                group.addTask {
                    // Cut short when the events have ended, or everything is cancelled.
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
        guard case .ended(let ended, let failure) = end else { return }
        output = ended
        if let failure { throw failure }
    }

    /// What an output has become when the events have ended, and why they did.
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

/// The head of the response that came last.
private final class LatestHead: Sendable {
    private let storage = Mutex<Response?>(nil)

    var head: Response? {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}

/// How a race between events and their deadline ends.
private enum RaceEnd<O: Output> {
    /// With what the output has become, and why the events did not go on if that is a failure.
    case ended(O, (any Error)?)
    case expired
    case undecided

    var isDecided: Bool { if case .ended = self { true } else { false } }

    /// The same, if what ended the events was the deadline.
    func expired(after deadline: Duration?) -> RaceEnd {
        guard let deadline, case .ended(let output, is CancellationError) = self else { return self }
        return .ended(output, RequestFailure("timeout_deadline", "timed out after \(deadline) of events"))
    }
}
