import Testing
import Trellis
import TrellisTesting

/// Each transport conforms to the rules that hold for every transport.
@Suite(.timeLimit(.minutes(1)))
struct TransportConformanceTests {
    @Test(arguments: TransportConformance.cases)
    func theMock(_ testCase: TransportConformance.Case) async throws {
        try await testCase.run(on: TransportConformance.MockHost())
    }

    @Test(arguments: TransportConformance.cases)
    func theScriptedOne(_ testCase: TransportConformance.Case) async throws {
        try await testCase.run(on: TransportConformance.ScriptedHost())
    }

    @Test(arguments: TransportConformance.cases)
    func libcurl(_ testCase: TransportConformance.Case) async throws {
        try await testCase.run(on: TransportConformance.LibcurlHost())
    }

    // MARK: The suite itself

    /// A transport that does not conform: every request succeeds at once, without anything being sent.
    private struct Liar: TransportConformance.Host, TransportConformance.RunningHost, Transport {
        final class Task: TransportTask {
            func cancel() {}
            func pauseReceiving(_ isPaused: Bool) {}
            func suspend(_ isSuspended: Bool) {}
            func send(_ chunk: Data) {}
            func finishSending() {}
        }

        var session: Session { Session(transport: self) }
        func url(_ path: String) -> String { "http://liar.example\(path)" }
        func waitUntilReleased(count: Int) async throws { throw TransportConformance.CaseFailure() }
        func start(_ script: @escaping TransportConformance.Script) throws -> any TransportConformance.RunningHost {
            self
        }

        func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
            events.transportIsConnected()
            events.transportDidReceiveHead(ResponseHead(status: .init(code: 299)))
            events.transportDidEnd(TransportEnd())
            return Task()
        }
    }

    @Test(
        arguments: TransportConformance.cases.filter {
            !$0.name.contains("cancelled") && !$0.name.contains("source fails")
        })
    func aTransportThatDoesNotConformIsFoundOut(_ testCase: TransportConformance.Case) async {
        await #expect(throws: (any Error).self) { try await testCase.run(on: Liar()) }
    }
}

extension TransportConformance {
    fileprivate struct CaseFailure: Error {}
}
