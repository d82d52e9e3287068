import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The connection of a call whose server has switched protocols. It keeps its session alive; released, it closes.
final class SessionConnection: DuplexConnection {
    /// The token that ends the exchange when the connection is released.
    private let token: TransferToken
    private let connection: any DuplexConnection
    private let method: HTTPRequest.Method
    private let url: String

    init(_ connection: any DuplexConnection, _ token: TransferToken, of request: Request) {
        self.connection = connection
        self.token = token
        method = request.method
        url = URLRedaction.redact(request.url)
    }

    func waitForBytes() async throws -> Data? {
        do { return try await connection.waitForBytes() } catch { throw completed(error, .receiving) }
    }

    func readSoon() throws -> Data? {
        do { return try connection.readSoon() } catch { throw completed(error, .receiving) }
    }

    func readAvailable() throws -> Data? {
        do { return try connection.readAvailable() } catch { throw completed(error, .receiving) }
    }

    func whenReadable(_ body: @escaping @Sendable () -> Void) { connection.whenReadable(body) }

    func send(_ bytes: Data) throws -> Bool {
        do { return try connection.send(bytes) } catch { throw completed(error, .sending) }
    }

    func send(_ bytes: RawSpan) throws -> Bool {
        do { return try connection.send(bytes) } catch { throw completed(error, .sending) }
    }

    func waitForRoom() async throws {
        do { return try await connection.waitForRoom() } catch { throw completed(error, .sending) }
    }

    func endWaits() { connection.endWaits() }

    func setFarewell(_ bytes: Data?) { connection.setFarewell(bytes) }

    func close() { connection.close() }

    var executor: (any TaskExecutor)? { connection.executor }

    /// Adds the request to the error of a call of the connection.
    private func completed(_ error: any Error, _ phase: TrellisError.Phase) -> any Error {
        var completed: TrellisError
        switch error {
        case let error as TrellisError: completed = error
        case let error as EngineFailure: completed = TrellisError(TransportFailure(error).reason)
        case is ConnectionClosed: completed = TrellisError(.cancelled(.explicitly))
        default: return error
        }
        if completed.method == nil { completed.method = method }
        if completed.url == nil { completed.url = url }
        completed.phase = phase
        return completed
    }
}
