import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisEvents

/// The decisions of an event source: responses, delays and requests.
struct EventSourceStateTests {
    // MARK: Responses

    private static func wrong(_ type: String?) -> EventSourceState.Decision {
        .fail(.contentType(type, acceptable: ["text/event-stream"]))
    }

    static let responses: [(Int, String?, EventSourceState.Decision)] = [
        (200, "text/event-stream", .read), (200, "Text/Event-Stream; charset=utf-8", .read),
        (200, "text/event-stream;x", .read), (200, "text/event-stream;\u{301}x=1", .read),
        (200, " text/event-stream ", .read),
        (200, "text/event-streams", wrong("text/event-streams")), (200, "text/plain", wrong("text/plain")),
        (200, "", wrong("")), (200, nil, wrong(nil)), (204, nil, .stop), (204, "text/event-stream", .stop),
        (201, "text/event-stream", .fail(.status(201))), (205, "text/event-stream", .fail(.status(205))),
        (301, "text/event-stream", .fail(.status(301))), (404, "text/plain", .fail(.status(404))),
        (503, "text/event-stream", .fail(.status(503))),
    ]

    @Test(arguments: responses)
    func onlyAStreamOfEventsIsRead(_ status: Int, _ type: String?, _ decision: EventSourceState.Decision) {
        var state = EventSourceState(.init())
        #expect(state.judge(status: status, contentType: type) == decision)
    }

    // MARK: Delays

    /// The number of failures in a row, the server's delay, the random number, and the wait; times in milliseconds.
    static let delays: [(Int, Int?, Double, Int)] = [
        (0, nil, 0.9, 3000), (0, 10_000, 0.9, 10_000), (0, 0, 0.9, 100), (0, 3_600_000, 0.9, 3_600_000),
        (1, nil, 0, 3000), (1, nil, 0.5, 4500), (2, nil, 0.5, 6000), (3, nil, 0.5, 9000), (5, nil, 0.5, 27_000),
        // The added delay never exceeds the limit, however many failures there were.
        (6, nil, 0.5, 33_000), (60, nil, 0.5, 33_000), (1, 3_600_000, 0.5, 3_630_000),
        // The backoff begins with one second where the server asks for no delay.
        (1, 0, 0.5, 600), (2, 0, 0.5, 1100), (3, 0, 0.5, 2100),
    ]

    @Test(arguments: delays)
    func theDelayIsTheReconnectionTimeAndARandomPart(
        _ failures: Int, _ reconnectionTime: Int?, _ random: Double, _ delay: Int
    ) {
        let wait = ReconnectionPolicy().delay(
            failures: failures, reconnectionTime: reconnectionTime.map { .milliseconds($0) }, random: random)
        #expect(wait == .milliseconds(delay))
    }

    @Test func aTimeWithoutEndDoesNotOverflow() {
        let wait = ReconnectionPolicy().delay(
            failures: 9, reconnectionTime: .milliseconds(Int64.max), random: 0.999)
        #expect(wait > .seconds(1_000_000))
    }

    @Test func aGoodResponseBeginsANewCount() {
        var state = EventSourceState(.init())
        let lost = TrellisError(.exchangeFailed(.receive("x")))
        #expect(state.delay(after: lost, random: 0.5) == .seconds(4.5))
        #expect(state.delay(after: lost, random: 0.5) == .seconds(6))
        _ = state.judge(status: 200, contentType: "text/event-stream")
        #expect(state.delay(after: lost, random: 0.5) == .seconds(4.5))
    }

    @Test func failuresInARowHaveTheirLimit() {
        var reconnection = ReconnectionPolicy()
        reconnection.maximumFailures = 2
        var state = EventSourceState(reconnection)
        let lost = TrellisError(.exchangeFailed(.receive("x")))
        #expect(state.delay(after: lost, random: 0) != nil)
        #expect(state.delay(after: lost, random: 0) == nil)
    }

    static let reasons: [(TrellisError.Reason, Bool)] = [
        (.connectionFailed(.unreachable("x")), true), (.connectionFailed(.nameResolution("x")), true),
        (.securityFailed(.handshake("x")), true), (.timedOut(.connect), true), (.timedOut(.idle), true),
        (.timedOut(.total), true), (.exchangeFailed(.receive("x")), true), (.exchangeFailed(.http2("x")), true),
        (.invalidResponse(.bodyCutShort("x")), true), (.proxyFailed(.refused(proxy: "x", status: 502)), true),
        (.proxyFailed(.unauthorized(proxy: "x", status: 407, hasCredentials: false)), false),
        (.securityFailed(.untrusted(.init(.selfSigned))), false), (.invalidRequest(.url("x")), false),
        (.cancelled(.explicitly), false), (.cancelled(.sessionShutDown), false),
        (.invalidResponse(.malformed("x")), false), (.invalidResponse(.bodyTooLarge(limit: 1)), false),
        (.bodyFailed(.notReplayable), false), (.unsupported("x"), false), (.other("x"), false),
        (.validationFailed(.status(503)), false),
        // An open circuit and a rate limit end at some time.
        (.limited(.circuitOpen(host: "x", failures: 1, requests: 2, nextAttempt: .seconds(1))), true),
        (.limited(.rate(host: "x", wait: .seconds(2), maximumWait: .seconds(1))), true),
    ]

    @Test(arguments: reasons)
    func onlyWhatMayPassIsTriedAgain(_ reason: TrellisError.Reason, _ isTriedAgain: Bool) {
        var state = EventSourceState(.init())
        #expect((state.delay(after: TrellisError(reason), random: 0) != nil) == isTriedAgain)
    }

    @Test func whatIsNoErrorOfTheFrameworkIsNotTriedAgain() {
        var state = EventSourceState(.init())
        #expect(state.delay(after: CancellationError(), random: 0) == nil)
    }

    // MARK: Requests

    private static func sent(_ request: Request, lastEventID: String? = nil) -> (Request, EventSourceState) {
        var state = EventSourceState(.init())
        state.lastEventID = lastEventID
        return (state.prepare(request), state)
    }

    @Test func aRequestIsCompleted() {
        let (request, state) = Self.sent(Request("http://localhost/"))
        #expect(request.headers == [.accept: "text/event-stream", .cacheControl: "no-cache"])
        #expect(request.timeouts == Timeouts(total: nil))
        #expect(state.lastEventID == "")
    }

    @Test func whatTheCallerGaveIsKept() {
        var given = Request("http://localhost/", headers: [.accept: "a/b", .cacheControl: "max-age=1"])
        given.timeouts = Timeouts(total: .seconds(9))
        let (request, _) = Self.sent(given)
        #expect(request.headers == given.headers)
        #expect(request.timeouts == given.timeouts)
    }

    @Test(arguments: [(nil, "given"), ("", nil), ("later", "later"), ("ü日", "ü日")] as [(String?, String?)])
    func theLastEventIDIsSent(_ last: String?, _ sent: String?) throws {
        let name = try #require(HTTPField.Name("Last-Event-ID"))
        let (request, state) = Self.sent(
            Request("http://localhost/", headers: [name: "given"]), lastEventID: last)
        #expect(request.headers[name] == sent)
        #expect(state.lastEventID == sent ?? "")
    }

    @Test(
        arguments: [
            .connectionFailed(.unreachable("x")), .securityFailed(.untrusted(.init(.selfSigned))), .timedOut(.idle),
            .exchangeFailed(.connectionLost), .invalidResponse(.bodyCutShort("x")), .bodyFailed(.notReplayable),
            .other("x"), .unsupported("x"),
        ] as [TrellisError.Reason])
    func aTransientErrorIsFollowedByAnAttempt(_ reason: TrellisError.Reason) {
        let error = TrellisError(reason, method: .get)
        var state = EventSourceState(.init())
        #expect((state.delay(after: error, random: 0) != nil) == error.isTransient)
    }
}
