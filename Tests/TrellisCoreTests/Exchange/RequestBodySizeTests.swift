import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// The size of a request's body in the measurements of its exchange, which observers get.
@Suite(.timeLimit(.minutes(3)))
struct RequestBodySizeTests {
    /// Returns the size of a body of 1,000 bytes in memory.
    ///
    /// - Parameters:
    ///   - sent: The number of bytes of head and body that the transport counts.
    ///   - end: Ends the attempt.
    private func size(ofSent sent: Int64, _ end: (ScriptedAttempt) -> Void) async throws -> Int64? {
        let scripted = Scripted()
        let (session, events) = (scripted.session, scripted.session.requestEvents)
        let request = Request("http://localhost/", method: .post, body: .data(Data(count: 1_000)))
        let call = Task { try? await session.data(request) }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await session.settle()
        attempt.report.bytesSent = sent
        end(attempt)
        _ = await call.value
        for await event in events {
            if case .exchangeEnded(let metrics, _) = event.kind { return metrics.requestBodySize }
        }
        return nil
    }

    /// A body in memory is passed to the transport in one piece, and so the size is limited by the number of bytes that were sent.
    @Test(arguments: [(0, 0), (150, 150), (1_150, 1_000)] as [(Int64, Int64)])
    func ofACutRequestNoMoreCountsThanWasSent(_ sent: Int64, _ expected: Int64) async throws {
        let size = try await size(ofSent: sent) { $0.fail(.exchangeFailed(.send("reset"))) }
        #expect(size == expected)
    }

    /// A transport that counts nothing has sent all before a response.
    @Test(arguments: [(0, 1_000), (150, 150)] as [(Int64, Int64)])
    func anAnsweredRequestWithoutACountWasSentWhole(_ sent: Int64, _ expected: Int64) async throws {
        let size = try await size(ofSent: sent) {
            $0.receiveHead()
            $0.end()
        }
        #expect(size == expected)
    }
}
