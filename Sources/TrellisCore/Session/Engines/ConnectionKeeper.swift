import CurlEngine

/// The connections to one origin that a session keeps open (``SessionConfiguration/keptConnections``).
final class ConnectionKeeper: Sendable {
    /// The pauses between attempts that open connections.
    struct Pace {
        /// The time for which connections last at least if nothing is wrong.
        static let usualTime = Duration.seconds(2)
        /// The number of attempts in a row that have failed, or whose connections were closed at once.
        private var failures = 0

        /// Returns the pause after an attempt.
        ///
        /// - Parameter time: The time for which all connections were open; `nil` if they could not be opened.
        mutating func pause(after time: Duration?) -> Duration {
            failures = time.map { $0 >= Self.usualTime } ?? false ? 0 : failures + 1
            return failures == 0 ? .zero : Duration.seconds(1).backoff(after: failures, upTo: .seconds(60))
        }
    }

    /// The instants at which connections were lost. The last one is kept until it is waited for.
    struct Losses: Sendable {
        private let instants = AsyncStream<EngineInstant>.makeStream(bufferingPolicy: .bufferingNewest(1))

        func tell(at instant: EngineInstant) { instants.continuation.yield(instant) }

        /// Ends all waits.
        func end() { instants.continuation.finish() }

        /// Waits for a loss. Returns `false` after the end.
        ///
        /// - Parameter start: The instant from which connections were opened for those that had been lost.
        func wait(since start: EngineInstant) async -> Bool {
            for await instant in instants.stream where instant >= start { return true }
            return false
        }
    }

    private let origin: String
    let count: Int
    private let losses = Losses()
    private let task = Locked<Task<Void, Never>?>(nil)

    init(_ origin: String, count: Int) {
        self.origin = origin
        self.count = count
    }

    /// Opens the connections of a session, and opens others for those that are closed.
    func begin(in session: Session) {
        guard let queue = session.preparation.queue(of: Request(origin)) else { return }
        let admission = session.engines.admission
        admission.watch(queue, below: count) { [losses, clock = session.clock] in
            losses.tell(at: clock.now())
        }
        task.withLock { task in
            task = Task(executorPreference: globalConcurrentExecutor) { [weak session, self] in
                var pace = Pace()
                while let (clock, timekeeper) = session.map({ ($0.clock, $0.timekeeper) }) {
                    let start = clock.now()
                    guard let isOpen = await open(in: session) else { return }
                    let opening = clock.now()
                    if isOpen, !admission.isShort(queue), await !losses.wait(since: start) { return }
                    let pause = pace.pause(after: isOpen ? .nanoseconds(clock.now().nanoseconds(since: opening)) : nil)
                    if pause > .zero, (try? await timekeeper.delay(for: pause)) != true { return }
                }
            }
        }
    }

    /// Returns whether the connections are open; `nil` if the session has ended, or can never open them.
    private func open(in session: Session?) async -> Bool? {
        do {
            try await session?.connect(to: origin, count: count)
            return session == nil ? nil : true
        } catch let error as TrellisError {
            // The program may have cancelled all requests, and goes on.
            if error.kind == .cancelled { return session?.life.isShutDown == false ? false : nil }
            return [.invalidURL, .invalidRequest, .unsupported, .egressRefused].contains(error.kind) ? nil : false
        } catch {
            return Task.isCancelled ? nil : false
        }
    }

    /// Opens no more connections.
    func end() {
        losses.end()
        task.withLock { $0 }?.cancelOffEngine()
    }
}
