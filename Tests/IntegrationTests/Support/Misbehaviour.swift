import Foundation
import Testing
import Trellis
import TrellisTesting

/// A server that responds correctly to `/good`, and according to a script to any other path, with a session for the test.
///
/// Each test ends with ``isHealthyAndLeavesNothing(_:)``: the session still serves the next request, and no connection exists after the
/// session was shut down.
struct Misbehaviour: Sendable {
    /// A script that runs after the head of a request other than `/good` was read. When the script returns, the connection continues with
    /// its next request, so that a client that should have closed the connection is detected.
    typealias Script = @Sendable (LoopbackServer.Connection, LoopbackServer.ReceivedRequest) throws -> Void

    /// The schemes of URLs: HTTP/1.1 without and with TLS.
    enum Scheme: CaseIterable { case http, https }

    let server: LoopbackServer
    let session: Session
    /// The gate that opens when a script has begun, or when the fixed text was sent.
    let reached: LoopbackServer.Gate

    /// - Parameter clock: The clock of the session; `nil` for the system's.
    init(
        _ configuration: SessionConfiguration = SessionConfiguration(), over scheme: Scheme = .http,
        clock: TestClock? = nil, _ script: @escaping Script
    ) throws {
        let reached = LoopbackServer.Gate()
        try self.init(configuration, scheme, clock, reached) { connection, request in
            reached.open()
            try script(connection, request)
        }
    }

    private init(
        _ configuration: SessionConfiguration, _ scheme: Scheme, _ clock: TestClock?, _ reached: LoopbackServer.Gate,
        _ script: @escaping Script
    ) throws {
        self.reached = reached
        server = try LoopbackServer(tls: scheme == .https ? LoopbackServer.TLS() : nil) { connection in
            while let request = try connection.readHead() {
                if request.path == "/good" {
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
                } else {
                    try script(connection, request)
                }
            }
        }
        var configuration = configuration
        // A second engine is added on a busy machine, and has connections of its own, but many tests count connections.
        if configuration.engines == .automatic { configuration.engines = .one }
        if scheme == .https {
            configuration.httpVersion = .http1Only
            configuration.tls = server.sessionConfiguration().tls
        }
        session =
            clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    /// Starts a server that responds with fixed text, and then ends the response according to ``Ending``.
    init(
        answering text: String, then ending: Ending = .keepOpen, _ configuration: SessionConfiguration = .init(),
        over scheme: Scheme = .http, clock: TestClock? = nil
    ) throws {
        let reached = LoopbackServer.Gate()
        try self.init(configuration, scheme, clock, reached) { connection, _ in
            try connection.write(text)
            reached.open()
            ending.apply(to: connection)
        }
    }

    /// A GET of a path other than `/good`.
    var request: Request { Request(server.url("/bad")) }

    /// Expects that the request fails with one of these kinds, and returns the error.
    @discardableResult
    func fails(
        with kinds: TrellisError.Kind..., sending request: Request? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> TrellisError? {
        await expectFailure(kinds, sourceLocation) { try await session.data(request ?? self.request) }
    }

    /// Expects that the request fails with one of these kinds when the clock has reached a limit, after the server has reached the stage of
    /// ``reached``. Returns the error.
    @discardableResult
    func fails(
        with kinds: TrellisError.Kind..., after limit: Duration, on clock: TestClock, sending request: Request,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TrellisError? {
        try await expectTimeout(kinds, after: limit, on: clock, in: session, once: reached, sourceLocation) {
            try await session.data(request)
        }
    }

    /// Checks that the next request on the session gets its response, and that the server has no connection after the session's shutdown.
    func isHealthyAndLeavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (data, _) = try await session.data(server.url("/good"))
        #expect(String(decoding: data, as: UTF8.self) == "good", sourceLocation: sourceLocation)
        try await leavesNothing(sourceLocation: sourceLocation)
    }

    /// Checks that the server has no connection after the session's shutdown.
    func leavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty, sourceLocation: sourceLocation)
    }
}

/// The end of a scripted response.
enum Ending: String, Sendable, CaseIterable {
    /// The connection stays open, without an end.
    case keepOpen
    /// The connection ends in order, with a FIN.
    case close
    /// The connection is reset, with a RST.
    case reset

    func apply(to connection: LoopbackServer.Connection) {
        switch self {
        case .keepOpen: break
        case .close: connection.shutdownWrite()
        case .reset: connection.reset()
        }
    }
}

/// Expects that the work fails with a ``TrellisError`` of one of these kinds, whose description is a sentence, and returns the
/// error.
@discardableResult
func expectFailure<Success>(
    _ kinds: [TrellisError.Kind], _ sourceLocation: SourceLocation = #_sourceLocation,
    of work: () async throws -> Success
) async -> TrellisError? {
    do {
        let success = try await work()
        Issue.record("expected \(kinds), got \(success)", sourceLocation: sourceLocation)
        return nil
    } catch let error as TrellisError {
        #expect(kinds.contains(error.kind), "\(error)", sourceLocation: sourceLocation)
        #expect(error.description.count > 10, sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("expected a TrellisError, got \(error)", sourceLocation: sourceLocation)
        return nil
    }
}
