import Foundation
import Testing
import Trellis
import TrellisTesting

/// A server that answers `/good` well and anything else as a script says, and a session to try it on.
///
/// Each test ends with ``isHealthyAndLeavesNothing(_:)``: whatever happened, the session serves the next request, and
/// once it is shut down no connection is left.
struct Misbehaviour: Sendable {
    /// What happens after the head of a request other than `/good` was read. When it returns, the connection goes on to
    /// its next request, so that a client that should have closed it is found out.
    typealias Script = @Sendable (LoopbackServer.Connection, LoopbackServer.ReceivedRequest) throws -> Void

    let server: LoopbackServer
    let session: Session

    init(_ configuration: SessionConfiguration = SessionConfiguration(), _ script: @escaping Script) throws {
        server = try LoopbackServer { connection in
            while let request = try connection.readHead() {
                if request.path == "/good" {
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
                } else {
                    try script(connection, request)
                }
            }
        }
        session = Session(configuration: configuration)
    }

    /// A server that answers with fixed text, and then as ``Ending`` says.
    init(answering text: String, then ending: Ending = .keepOpen, _ configuration: SessionConfiguration = .init())
        throws
    {
        try self.init(configuration) { connection, _ in
            try connection.write(text)
            ending.apply(to: connection)
        }
    }

    /// A GET of something other than `/good`.
    var request: Request { Request(server.url("/bad")) }

    /// The request fails with one of these kinds.
    @discardableResult
    func fails(
        with kinds: TrellisError.Kind..., sending request: Request? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> TrellisError? {
        await expectFailure(kinds, sourceLocation) { try await session.data(request ?? self.request) }
    }

    /// The next request on the session is answered, and after its shutdown the server holds no connection of it.
    func isHealthyAndLeavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (data, _) = try await session.data(server.url("/good"))
        #expect(String(decoding: data, as: UTF8.self) == "good", sourceLocation: sourceLocation)
        try await leavesNothing(sourceLocation: sourceLocation)
    }

    /// After the session's shutdown the server holds no connection of it.
    func leavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty, sourceLocation: sourceLocation)
    }
}

/// How a scripted answer ends.
enum Ending: String, Sendable, CaseIterable {
    /// It does not: the connection stays open.
    case keepOpen
    /// In order, with a FIN.
    case close
    /// With a RST.
    case reset

    func apply(to connection: LoopbackServer.Connection) {
        switch self {
        case .keepOpen: break
        case .close: connection.shutdownWrite()
        case .reset: connection.reset()
        }
    }
}

/// The work fails with a ``TrellisError`` of one of these kinds, which reads as a sentence.
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
