import CurlEngine
import Foundation
import Testing
import TrellisTesting

@testable import Trellis

/// The evaluation of servers where a service is tried before the origin.
@Suite(.timeLimit(.minutes(1)))
struct AlternativeServiceTrustTests {
    /// An evaluator that does not decide the first time.
    private final class Undecided: ServerTrustEvaluating {
        let asked = LoopbackServer.Gate()
        private let never = LoopbackServer.Gate()
        private let count = Locked(0)

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else { return }
            asked.open()
            try await never.opened()
        }
    }

    /// The service has two seconds for its connection, and an evaluator has all of the time for connecting.
    @Test func anEvaluatorThatTakesItsTimeIsAskedForTheOrigin() async throws {
        let encodings = try TestCertificates.chain().map { [UInt8]($0.derRepresentation) }
        let chain = CertificateChain(validated: encodings, sent: encodings)
        let transport = EarlyTransport { number, _, events in
            guard let events = events as? any SecureTransportEvents else { return }
            events.transportDidReceiveCertificates(chain)
            // The first one of each way ends with the evaluation.
            guard number > 2 else { return }
            events.transportIsConnected()
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            events.transportDidEnd(TransportEnd())
        }
        let (evaluator, clock, url) = (Undecided(), TestClock(), "https://www.example.com/")
        let store = AlternativeServiceStore(hasHTTP3: true) { Date() }
        try store.receive("h3=\":443\"", from: url)
        var configuration = SessionConfiguration()
        configuration.alternativeServices = store
        configuration.serverTrustManager = ServerTrustManager(everyHost: evaluator)
        configuration.timeouts.total = nil
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let hasEnded = Locked(false)
        let status = Task {
            defer { hasEnded.withLock { $0 = true } }
            return try await session.data(Request(url, method: .post, body: .string("abc"))).1.status
        }
        try await evaluator.asked.opened()
        while transport.attempts.count < 2, !hasEnded.withLock({ $0 }) {
            clock.advance(by: .seconds(2))
            await session.settle()
        }
        #expect(try await status.value == .ok)
        #expect(transport.attempts.map { $0.request["Alt-Used"] } == ["www.example.com", nil, nil])
        // The service has not failed.
        #expect(try store.used(url) != nil)
        await session.shutdown()
    }
}
