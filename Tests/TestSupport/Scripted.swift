import CurlEngine
package import TrellisCore
package import TrellisTesting

/// A session on a scripted transport, with a clock that the test advances.
package struct Scripted {
    package let clock = TestClock()
    package let transport: ScriptedTransport
    package let session: Session

    package init(_ change: (inout SessionConfiguration) -> Void = { _ in }) {
        var configuration = SessionConfiguration()
        // The machine of the test may have no network.
        configuration.reachability = TestNetwork().reachability
        change(&configuration)
        transport = ScriptedTransport(clock: clock)
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// A session with one connection slot.
    package static var narrow: Scripted { Scripted { $0.limits.total = 1 } }

    /// Advances the clock and runs the work that is due.
    package func advance(by duration: Duration) async {
        await session.settle()
        clock.move(by: duration)
        await session.settle()
    }

    /// The number of requests that have not ended.
    package var liveCount: Int { get async { await session.liveRequestCount } }

    /// The number of timers that are set.
    package var timerCount: Int {
        get async {
            let engine = session.timekeeper
            return await withContinuation { continuation in
                engine.submit { continuation.resume(returning: engine.engineLoop.timerCount) }
            }
        }
    }

    /// Takes the only slot, so that every other request waits.
    package func block() async throws -> (DataRequest, ScriptedAttempt) {
        let blocker = session.request("http://localhost/blocker")
        blocker.resume()
        return (blocker, try await transport.nextAttempt())
    }

    /// Waits until the session accepts no more requests: until then a new request waits for a slot.
    package func waitUntilRefusing() async {
        while !session.life.isShutDown, !Task.isCancelled { await session.settle() }
    }

    /// Waits until this number of requests have been made and have not ended.
    package func waitUntilLive(count: Int) async {
        while await liveCount != count, !Task.isCancelled { await session.settle() }
    }
}

/// The outcome of a task, for comparisons.
package enum Outcome: Equatable, Sendable {
    case answer(String)
    case taskCancelled
    case failed(TrellisError.Reason)
    case otherError(String)

    package init(_ body: () async throws -> String) async {
        do {
            self = .answer(try await body())
        } catch is CancellationError {
            self = .taskCancelled
        } catch let error as TrellisError {
            self = .failed(error.reason)
        } catch {
            self = .otherError("\(error)")
        }
    }
}

/// Starts a task that returns the outcome of `body`.
package func outcome(_ body: sending @escaping @isolated(any) () async throws -> String) -> Task<Outcome, Never> {
    Task { await Outcome { try await body() } }
}
