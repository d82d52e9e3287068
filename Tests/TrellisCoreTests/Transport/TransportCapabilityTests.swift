import CurlEngine
import FoundationEssentials
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// What a transport outside of the framework may tell of its attempts and of its connections.
@Suite(.timeLimit(.minutes(3)))
struct TransportCapabilityTests {
    /// A transport that answers when the test says so, and records what it is told.
    private final class Teller: Transport, TransportTask {
        private struct State {
            var events: (any TransportEvents)?
            var calls: [String] = []
        }

        private let state = Locked(State())

        var calls: [String] { state.withLock { $0.calls } }
        private func note(_ call: String) { state.withLock { $0.calls.append(call) } }

        func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
            state.withLock { $0.events = events }
            note("start")
            return self
        }

        func answer() {
            let events = state.withLock { state in
                defer { state.events = nil }
                return state.events
            }
            events?.transportIsConnected()
            events?.transportDidReceiveHead(ResponseHead(status: .init(code: 204)))
            events?.transportDidEnd(TransportEnd())
        }

        func closeIdleConnections(to origin: String?) { note("close \(origin ?? "all")") }
        func cancel() { note("cancel") }
        func pauseReceiving(_ isPaused: Bool) {}
        func suspend(_ isSuspended: Bool) {}
        func send(_ chunk: Data) {}
        func finishSending() {}

        var reasonForWaiting: String? { "its peer sleeps" }
        func didTimeOut(isIdle: Bool) { note("timeout") }
        var connectionDetails: TransportConnection {
            var details = TransportConnection()
            (details.version, details.port) = (.http2, 4_711)
            return details
        }
    }

    @Test func anErrorSaysWhyTheAttemptHasWaited() async throws {
        let (clock, teller) = (TestClock(), Teller())
        let session = Session(transport: teller, clock: clock)
        let task = Task {
            try await session.data("http://localhost/", timeouts: Timeouts(connect: .seconds(5), total: nil))
        }
        while teller.calls.isEmpty, !Task.isCancelled { await session.settle() }
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.reason == .timedOut(.connect) && error?.detail == "its peer sleeps")
        #expect(teller.calls == ["start", "timeout", "cancel"])
    }

    @Test func anEventDescribesTheConnection() async throws {
        let teller = Teller(), session = Session(transport: teller)
        let task = Task { [events = session.requestEvents] in
            for await event in events {
                if case .connected(let connection) = event.kind { return connection as ConnectionInfo? }
            }
            return nil
        }
        let answer = Task { try await session.data("http://localhost/").1.status.code }
        while teller.calls.isEmpty, !Task.isCancelled { await session.settle() }
        teller.answer()
        #expect(try await answer.value == 204)
        let connection = try #require(await task.value)
        #expect(connection.version == .http2 && connection.localPort == 4_711)
    }

    @Test func aTransportClosesItsIdleConnectionsForAnotherOrigin() async throws {
        let teller = Teller(), session = Session(transport: teller)
        let site = session.engines.first.site
        let answer = Task { try await session.data("http://localhost/").1.status.code }
        while teller.calls.isEmpty, !Task.isCancelled { await session.settle() }
        teller.answer()
        #expect(try await answer.value == 204)
        await withContinuation { continuation in
            site.closeIdleConnections(to: "http://localhost:80") { continuation.resume() }
        }
        #expect(teller.calls == ["start", "close http://localhost:80"])
    }
}
