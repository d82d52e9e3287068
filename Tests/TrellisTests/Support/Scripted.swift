import CurlEngine
import Testing
import TrellisTesting

@testable import Trellis

/// A session on a scripted transport with a clock that stands still.
struct Scripted {
    let clock = TestClock()
    let transport: ScriptedTransport
    let session: Session

    init(_ change: (inout SessionConfiguration) -> Void = { _ in }) {
        var configuration = SessionConfiguration()
        change(&configuration)
        transport = ScriptedTransport(clock: clock)
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// With one slot.
    static var narrow: Scripted { Scripted { $0.limits.total = 1 } }

    /// Moves the clock and lets what is due happen.
    func advance(by duration: Duration) async {
        await session.settle()
        clock.advance(by: duration)
        await session.settle()
    }

    /// How many requests have not ended.
    var liveCount: Int { get async { await session.actor.requestCount } }

    /// How many timers are set.
    var timerCount: Int {
        get async {
            let engine = session.engine
            return await withCheckedContinuation { continuation in
                engine.submit { continuation.resume(returning: engine.engineLoop.timerCount) }
            }
        }
    }

    /// Takes the only slot, so that every other request waits.
    func block() async throws -> (DataRequest, ScriptedAttempt) {
        let blocker = session.request("http://localhost/blocker")
        blocker.resume()
        return (blocker, try await transport.nextAttempt())
    }

    /// Returns when so many requests have been made and have not ended.
    func waitUntilLive(count: Int) async {
        while await liveCount != count { await session.settle() }
    }
}

/// How a task ended, as something to compare.
enum Outcome: Equatable, Sendable {
    case answer(String)
    case taskCancelled
    case failed(TrellisError.Reason)
    case otherError(String)

    init(_ body: () async throws -> String) async {
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

/// Starts a task and tells how it ended.
func outcome(_ body: sending @escaping @isolated(any) () async throws -> String) -> Task<Outcome, Never> {
    Task { await Outcome { try await body() } }
}
