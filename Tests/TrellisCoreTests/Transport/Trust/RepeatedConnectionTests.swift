import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// An engine sends a request again on another connection by itself, and the server shows other certificates there.
@Suite(.timeLimit(.minutes(3)))
struct RepeatedConnectionTests {
    private struct Waiting: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws { await Task.yield() }
    }

    /// The evaluator is asked about the new certificates, and the request starts from the beginning, which its body may not allow.
    @Test(arguments: [true, false])
    func aBodyThatWasBegunStartsFromItsBeginning(isReplayable: Bool) async throws {
        let encodings = try TestCertificates.chain().map { [UInt8]($0.derRepresentation) }
        let one = CertificateChain(validated: encodings, sent: encodings)
        let other = CertificateChain(validated: encodings.dropLast(), sent: encodings)
        let (isRead, connected) = (LoopbackServer.Gate(), Locked<(any ConnectionTransportEvents)?>(nil))
        let transport = EarlyTransport { number, _, events in
            guard let events = events as? any ConnectionTransportEvents else { return }
            events.transportDidReceiveCertificates(number <= 2 ? one : other)
            switch number {
            case 1: return
            case 2:
                connected.withLock { $0 = events }
                events.transportIsConnected()
            case 3:
                // The new certificates are to be evaluated first.
                events.transportIsConnected()
                events.transportDidReceiveHead(ResponseHead(status: .ok))
                events.transportDidEnd(TransportEnd())
            default: Issue.record("attempt \(number)")
            }
        }
        var configuration = SessionConfiguration()
        configuration.serverTrustManager = ServerTrustManager(everyHost: Waiting())
        let session = Session(configuration: configuration, transport: transport)
        let chunks = AsyncThrowingStream<Data, any Error>(unfolding: {
            isRead.open()
            return nil
        })
        let body: RequestBody = isReplayable ? .stream { chunks } : .stream(chunks)
        let status = Task {
            try await session.data(Request("https://www.example.com/", method: .put, body: body)).1.status
        }
        try await isRead.opened()
        let engine = session.engine
        engine.submit { connected.withLock { $0 }?.transportDidReceiveCertificates(other) }
        if isReplayable {
            #expect(try await status.value == .ok)
            #expect(transport.attempts.count == 3)
        } else {
            let error = await #expect(throws: TrellisError.self) { try await status.value }
            #expect(error?.kind == .bodyNotReplayable)
            #expect(transport.attempts.count == 2)
        }
        await session.shutdown()
    }
}
