import CurlEngine

/// The values from which an event source opens each of its connections.
struct EventSourceConnection: Sendable {
    let session: Session
    /// A closure that converts the request, for each connection.
    let convert: @Sendable () throws -> Request
    /// The limit on the bytes of an event's data and of each line.
    let limit: Int
    /// A closure that receives the head of each response.
    let onResponse: (@Sendable (Response) async throws -> Void)?
    /// A closure that returns random numbers from 0 up to 1.
    let random: @Sendable () -> Double

    /// Waits on the session's clock. Throws an error if the session is shut down.
    func wait(_ duration: Duration) async throws {
        guard try await session.engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }
}
