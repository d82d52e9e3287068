import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// The order in which an exchange handles its inputs: the effects of one run to completion before the next.
@Suite(.timeLimit(.minutes(3)))
struct ExchangeTurnTests {
    @Test func inputsAreTakenInTheOrderOfTheirArrival() {
        var turn = ExchangeTurn<Int>()
        #expect(turn.isEmpty)
        turn.add(.event(.admit))
        turn.add(.report(1))
        turn.add(.event(.head))
        turn.add(.condition(.hold))
        var words: [String] = []
        while let input = turn.next() {
            switch input {
            case .event(let event): words.append("\(event)")
            case .condition(let condition): words.append("\(condition)")
            case .report(let number): words.append("\(number)")
            }
        }
        #expect(words == ["admit", "1", "head", "hold"])
        #expect(turn.isEmpty)
        turn.add(.report(2))
        turn.add(.event(.fail))
        guard case .report(2)? = turn.next(), case .event(.fail)? = turn.next() else {
            Issue.record("wrong order"); return
        }
        #expect(turn.isEmpty)
    }

    private func session(transport: any Transport) -> Session {
        Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
    }

    /// The transport reports everything before the exchange knows the attempt.
    @Test func aResponseWithinTheStartIsComplete() async throws {
        let transport = EarlyTransport { _, _, events in
            events.transportIsConnected()
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            for byte in UInt8(ascii: "a")...UInt8(ascii: "e") {
                [byte].withBytes { events.transportDidReceiveBody($0) }
            }
            events.transportDidEnd(TransportEnd())
        }
        let session = session(transport: transport)
        #expect(String(decoding: try await session.data("http://a.example/").0, as: UTF8.self) == "abcde")
        #expect(transport.attempts.map(\.isCancelled) == [false])
        await session.shutdown()
    }

    /// Steps whose turn has come do not wait behind those after them.
    @Test func stepsWithinTheStartAreReportedInTheirOrder() async throws {
        let transport = EarlyTransport { _, _, events in
            let observed = events as? any ConnectionTransportEvents
            observed?.transportDidReach(.lookingUp(host: "a.example"))
            events.transportIsConnected()
            for step in [TransferStep.handshaking(with: "a.example"), .connecting(to: "192.0.2.1:80"), .headSent] {
                observed?.transportDidReach(step)
            }
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            events.transportDidEnd(TransportEnd())
        }
        let session = session(transport: transport), monitor = EventWords()
        _ = try await session.data(Request("http://a.example/").withEventMonitor(monitor))
        #expect(
            try await monitor.words(until: "finished 200") == [
                "created", "queued", "admitted", "looking up a.example", "connected", "sent", "handshaking a.example",
                "connecting 192.0.2.1:80", "head 200", "ended", "finished 200",
            ])
        await session.shutdown()
    }

    /// The head ends the attempt, which the exchange does not know before the effect that starts it is complete.
    @Test func anAttemptThatIsDroppedWithinItsStartIsCancelled() async throws {
        let transport = EarlyTransport { number, _, events in
            events.transportDidReceiveHead(ResponseHead(status: number == 1 ? .expectationFailed : .ok))
            events.transportDidEnd(TransportEnd())
        }
        let session = session(transport: transport)
        let body = RequestBody.stream {
            AsyncStream<Data> { continuation in
                continuation.yield(Data("body".utf8))
                continuation.finish()
            }
        }
        let request = Request("http://a.example/", method: .post, body: body)
        let response = try await session.data(request.withContinueExpectation(waiting: .seconds(1))).1
        #expect(response.status == .ok)
        #expect(transport.attempts.map(\.isCancelled) == [true, false])
        #expect(transport.attempts.last?.request.headers[.expect] == nil)
        await session.shutdown()
    }
}
