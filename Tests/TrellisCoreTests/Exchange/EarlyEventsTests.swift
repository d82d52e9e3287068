import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// Transports that report events before `start` has returned.
@Suite(.timeLimit(.minutes(3)))
struct EarlyEventsTests {
    @Test func anAttemptThatFailsWithinItsStartIsCancelled() async throws {
        let transport = EarlyTransport { _, _, events in
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            [UInt8](repeating: 0, count: 16).withBytes { events.transportDidReceiveBody($0) }
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        var request = Request("http://a.example/")
        request.maximumBodySize = .bytes(10)
        let sent = request
        #expect(
            await outcome { "\(try await session.data(sent).0.count)" }.value
                == .failed(.invalidResponse(.bodyTooLarge(limit: 10))))
        #expect(transport.attempts.map(\.isCancelled) == [true])
    }

    /// A transport that has sent a request again itself, as often as it may be sent, is not asked once more.
    @Test(arguments: [true, false]) func aRefusalIsFinalOrNot(_ isFinal: Bool) async throws {
        let transport = EarlyTransport { number, _, events in
            var failure = TransportFailure(.exchangeFailed(.http2("REFUSED_STREAM")))
            (failure.isUnprocessed, failure.isFinal) = (true, isFinal)
            events.transportDidEnd(TransportEnd(failure: failure))
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        let request = Request("http://a.example/", method: .post)
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .http2 && error?.isRetryable == true)
        #expect(transport.attempts.count == (isFinal ? 1 : 2))
        await session.shutdown()
    }

    @Test func aRestartWithinTheStartIsTheAttemptThatIsCancelled() async throws {
        let transport = EarlyTransport { number, _, events in
            guard number == 1 else { return }
            var failure = TransportFailure(.exchangeFailed(.connectionLost))
            failure.isUnprocessed = true
            events.transportDidEnd(TransportEnd(failure: failure))
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        let task = outcome { "\(try await session.data("http://a.example/").1.status.code)" }
        while transport.attempts.count < 2, !Task.isCancelled { await session.settle() }
        task.cancel()
        #expect(await task.value == .taskCancelled)
        await session.settle()
        #expect(transport.attempts.map(\.isCancelled) == [false, true])
    }
}
