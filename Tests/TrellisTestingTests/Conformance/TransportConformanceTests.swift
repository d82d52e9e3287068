import CurlEngine
import Testing
@_spi(Transport) import Trellis
@_spi(Transport) import TrellisTesting

/// Each transport conforms to the rules that hold for every transport.
@Suite(.timeLimit(.minutes(3)))
struct TransportConformanceTests {
    @Test(arguments: TransportConformance.cases(for: TransportConformance.MockHost()))
    func theMock(_ testCase: TransportConformance.Case) async throws {
        try await testCase.run(on: TransportConformance.MockHost())
    }

    @Test(arguments: TransportConformance.cases(for: TransportConformance.ScriptedHost()))
    func theScriptedOne(_ testCase: TransportConformance.Case) async throws {
        try await testCase.run(on: TransportConformance.ScriptedHost())
    }

    @Test(arguments: TransportConformance.cases(for: TransportConformance.LibcurlHost()))
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

        var features: TransportConformance.Features { [.wire, .twoWay, .requestTrailers] }
        var session: Session { Session(transport: self) }
        func url(_ path: String) -> String { "http://liar.example\(path)" }
        func waitUntilReleased(count: Int) async throws { throw TransportConformance.CaseFailure() }
        func start(_ scenario: TransportConformance.Scenario) throws -> any TransportConformance.RunningHost { self }

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

    @Test func libcurlSkipsNoCaseThatItCanPlay() {
        let skipped = TransportConformance.cases.filter {
            !TransportConformance.LibcurlHost().features.isSuperset(of: $0.features)
        }
        #expect(skipped.map(\.name) == [])
    }

    @Test func aHostWithoutAWireSkipsTheCasesThatNeedOne() {
        let all = TransportConformance.cases
        let needsWire = all.filter { !$0.features.isSubset(of: .twoWay) }.map(\.name)
        let scripted = TransportConformance.cases(for: TransportConformance.ScriptedHost()).map(\.name)
        #expect(!needsWire.isEmpty && Set(scripted) == Set(all.map(\.name)).subtracting(needsWire))
        let mock = TransportConformance.cases(for: TransportConformance.MockHost())
        #expect(mock.map(\.name) == all.filter { $0.features.isEmpty }.map(\.name))
    }

    /// A case that its host cannot play must not pass.
    @Test(arguments: TransportConformance.cases.filter { !$0.features.isEmpty })
    func aCaseFailsOnAHostThatCannotPlayIt(_ testCase: TransportConformance.Case) async {
        await #expect(throws: TransportConformance.Failure.self) {
            try await testCase.run(on: TransportConformance.MockHost())
        }
    }
}

extension TransportConformance {
    fileprivate struct CaseFailure: Error {}
}
