import CurlEngine
import Foundation
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore
@testable import TrellisUpgrades

/// The evaluation of servers where a service is tried before the origin.
@Suite(.timeLimit(.minutes(3)))
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

    /// The failures of alternative services.
    private final class Failures: EventMonitor {
        private let list = Locked<[String]>([])
        var all: [String] { list.withLock { $0 } }

        func handle(_ event: RequestEvent) async {
            guard case .alternativeFailed(let service, let error) = event.kind else { return }
            let kind = (error as? TrellisError)?.kind.rawValue ?? "\(error)"
            list.withLock { $0.append("\(service) \(kind)") }
        }
    }

    /// The service has two seconds for its connection, and an evaluator has all of the time for connecting. The next requests do not wait
    /// for the evaluator again.
    @Test func anEvaluatorThatTakesItsTimeIsAskedForTheOrigin() async throws {
        let encodings = try TestCertificates.chain().map { [UInt8]($0.derRepresentation) }
        let chain = CertificateChain(validated: encodings, sent: encodings)
        let transport = EarlyTransport { number, _, events in
            guard let events = events as? any ConnectionTransportEvents else { return }
            events.transportDidReceiveCertificates(chain)
            // The first one of each way ends with the evaluation.
            guard number > 2 else { return }
            events.transportIsConnected()
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            events.transportDidEnd(TransportEnd())
        }
        let (evaluator, clock, url) = (Undecided(), TestClock(), "https://www.example.com/")
        let (store, failures) = (AlternativeServiceStore(hasHTTP3: true) { Date() }, Failures())
        try store.receive("h3=\":443\"", from: url)
        var configuration = SessionConfiguration()
        configuration.alternativeServices = store
        configuration.serverTrustManager = ServerTrustManager(everyHost: evaluator)
        configuration.timeouts.total = nil
        configuration.eventMonitors = [failures]
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let hasEnded = Locked(false)
        let status = Task {
            defer { hasEnded.withLock { $0 = true } }
            return try await session.data(Request(url, method: .post, body: .string("abc"))).1.status
        }
        try await evaluator.asked.opened()
        while transport.attempts.count < 2, !hasEnded.withLock({ $0 }), !Task.isCancelled {
            clock.move(by: .seconds(2))
            await session.settle()
        }
        #expect(try await status.value == .ok)
        #expect(transport.attempts.map { $0.request["Alt-Used"] } == ["www.example.com", nil, nil])
        #expect(try store.used(url) == nil)
        _ = try await session.data(url)
        let others = transport.attempts.dropFirst()
        #expect(others.count > 2 && others.allSatisfy { $0.request["Alt-Used"] == nil })
        await session.shutdown()
        #expect(failures.all == ["h3 at www.example.com:443 timeout_connect"])
    }
}
