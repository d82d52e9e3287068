import CurlEngine

/// What an event source needs for each of its connections.
struct EventSourceConnection: Sendable {
    let session: Session
    /// Makes the request anew.
    let convert: @Sendable () throws -> Request
    let limit: Int
    /// Sees the head of each response.
    let whenAnswered: (@Sendable (Response) async throws -> Void)?
    /// From 0 up to 1.
    let random: @Sendable () -> Double

    /// Waits on the session's clock.
    func wait(_ duration: Duration) async throws {
        guard try await session.engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }
}
