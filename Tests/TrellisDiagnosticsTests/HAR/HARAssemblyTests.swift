import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// Exchanges that are put together from events and bodies in any order.
struct HARAssemblyTests {
    /// The events of calls as a monitor gets them, and the exchanges that they complete.
    private struct Script {
        var assembly = HARAssembly()
        /// The exchanges in the order of their completion, as texts.
        var complete: [String] = []

        /// Takes an event, a millisecond after the one before it.
        mutating func take(
            _ kind: RequestEvent.Kind, attempt: Int = 1, call: UInt64 = 1, at milliseconds: Int64 = 1
        ) {
            let event = RequestEvent(
                of: EventSubject(id: call, method: .get, url: "http://a.example/"), attempt: attempt,
                elapsed: milliseconds * 1_000_000, kind: kind)
            add(assembly.take(event))
        }

        mutating func begin(attempt: Int = 1, call: UInt64 = 1) -> Int {
            assembly.beginCapture(callID: call, attempt: attempt)
        }

        /// Ends a capture with a body that began at some time.
        mutating func end(
            _ id: Int, _ text: String?, status: Int = 200, firstByte: Int64 = 0, call: UInt64 = 1
        ) {
            add(assembly.endCapture(id, callID: call, body: text.map { Script.body($0, status, firstByte) }))
        }

        static func body(_ text: String, _ status: Int, _ firstByte: Int64) -> CapturedBody {
            var metrics = Metrics()
            metrics.firstByte = .milliseconds(firstByte)
            var body = CapturedBody(
                Response(head: ResponseHead(status: .init(code: status)), url: "http://a.example/", metrics: metrics))
            body.append(Data(text.utf8), limit: .max)
            return body
        }

        private mutating func add(_ exchanges: [HARExchange]) {
            complete += exchanges.map { exchange in
                let status = exchange.head.map { "\($0.status.code)" } ?? "-"
                let body = exchange.body.map { " " + String(decoding: $0.bytes, as: UTF8.self) } ?? ""
                let cache = exchange.cacheStatus.map { " \($0)" } ?? ""
                return "\(exchange.request.url) \(exchange.attempt) \(status)\(body)\(cache)"
            }
        }

        /// Takes the events of an exchange up to its head.
        mutating func open(_ url: String, _ status: Int?, attempt: Int = 1, call: UInt64 = 1) {
            take(.queued(Request(url)), attempt: attempt, call: call)
            take(.admitted, attempt: attempt, call: call)
            if let status {
                take(.head(ResponseHead(status: .init(code: status))), attempt: attempt, call: call)
            }
        }

        mutating func close(attempt: Int = 1, call: UInt64 = 1, firstByte: Int64 = 0, _ failure: (any Error)? = nil) {
            var metrics = Metrics()
            metrics.firstByte = .milliseconds(firstByte)
            take(.exchangeEnded(metrics, failure), attempt: attempt, call: call)
        }

        mutating func finish(call: UInt64 = 1) {
            take(
                .finished(Response(head: ResponseHead(status: .ok), url: "http://a.example/")), call: call)
        }
    }

    private static let created = RequestEvent.Kind.created(Request("http://a.example/"))

    @Test func anExchangeIsCompleteWithTheNextEventOfItsCall() {
        var script = Script()
        script.take(Self.created)
        script.open("a", 200)
        script.close()
        #expect(script.complete == [])
        script.finish()
        #expect(script.complete == ["a 1 200"] && script.assembly.isEmpty)
    }

    @Test func redirectsAndRetriesAreExchangesOfTheirOwn() {
        var script = Script()
        script.take(Self.created)
        script.open("a", 302)
        script.close()
        script.open("b", nil)
        script.close(TrellisError(.exchangeFailed(.receive("reset"))))
        script.take(.retrying(after: .zero, because: nil))
        script.open("b", 200, attempt: 2)
        script.close(attempt: 2)
        script.finish()
        #expect(script.complete == ["a 1 302", "b 1 -", "b 2 200"] && script.assembly.isEmpty)
    }

    @Test func theUseOfTheCacheBelongsToTheExchangeBeforeIt() {
        var script = Script()
        script.take(Self.created)
        script.open("a", 200)
        script.close()
        script.take(.cacheUsed(CacheStatus(.uriMiss)))
        script.finish()
        #expect(script.complete == ["a 1 200 trellis; fwd=uri-miss"])
    }

    /// A hit has no exchange.
    @Test func aHitIsNoExchange() {
        var script = Script()
        script.take(Self.created)
        script.take(.cacheUsed(CacheStatus(nil)))
        script.finish()
        #expect(script.complete == [] && script.assembly.isEmpty)
    }

    @Test func aStreamEndsAfterItsCall() {
        var script = Script()
        script.take(Self.created)
        script.open("a", 200)
        script.finish()
        #expect(!script.assembly.isEmpty)
        script.close()
        #expect(script.complete == ["a 1 200"] && script.assembly.isEmpty)
    }

    /// The end of a redirect whose body was dropped is told after the beginning of the next exchange.
    @Test func aRedirectMayEndLate() {
        var script = Script()
        script.take(Self.created)
        script.open("a", 302)
        script.open("b", 200)
        script.close()
        script.finish()
        script.close()
        #expect(script.complete == ["a 1 302", "b 1 200"] && script.assembly.isEmpty)
    }

    @Test func anExchangeForCertificatesIsNone() {
        var script = Script()
        script.take(Self.created)
        script.take(.queued(Request("a")))
        script.take(.admitted)
        script.take(.evaluatingServerTrust(ServerTrust.test))
        script.open("a", 200)
        script.close()
        script.finish()
        #expect(script.complete == ["a 1 200"])
    }

    @Test func hedgedAttemptsAreKeptApart() {
        var script = Script()
        script.take(Self.created)
        script.open("a", nil, attempt: 1)
        script.open("a", nil, attempt: 2)
        script.take(.head(ResponseHead(status: .ok)), attempt: 1)
        script.close(attempt: 2, CancellationError())
        script.close(attempt: 1)
        script.finish()
        #expect(script.complete == ["a 1 200", "a 2 -"])
    }

    // MARK: Bodies

    @Test(arguments: [false, true])
    func aBodyWaitsForItsExchangeAndAnExchangeForItsBody(_ bodyIsFirst: Bool) {
        var script = Script()
        let capture = script.begin()
        if bodyIsFirst { script.end(capture, "body") }
        script.take(Self.created)
        script.open("a", 200)
        script.close()
        script.finish()
        if !bodyIsFirst {
            #expect(script.complete == [])
            script.end(capture, "body")
        }
        #expect(script.complete == ["a 1 200 body"] && script.assembly.isEmpty)
    }

    /// The bodies of two responses with the same status in one attempt, as with a challenge that is repeated.
    @Test func aBodyIsThatOfTheNearestResponse() {
        var script = Script()
        let first = script.begin()
        script.end(first, "one", status: 401, firstByte: 10)
        let second = script.begin()
        script.end(second, "two", status: 401, firstByte: 30)
        script.take(Self.created)
        script.open("a", 401)
        script.close(firstByte: 10)
        script.open("b", 401)
        script.close(firstByte: 29)
        script.finish()
        #expect(script.complete == ["a 1 401 one", "b 1 401 two"])
    }

    /// A step around several exchanges has the body of the last one.
    @Test func anExchangeWithoutABodyOfItsOwn() {
        var script = Script()
        script.take(Self.created)
        let capture = script.begin()
        script.open("a", 421)
        script.close()
        script.open("b", 200)
        script.close()
        script.end(capture, "body")
        script.finish()
        #expect(script.complete == ["a 1 421", "b 1 200 body"] && script.assembly.isEmpty)
    }

    @Test func aHopThatFailsHasNoBody() {
        var script = Script()
        script.take(Self.created)
        let capture = script.begin()
        script.open("a", 200)
        script.close(TrellisError(.invalidResponse(.bodyCutShort("x"))))
        script.end(capture, nil)
        script.take(.failed(CancellationError()))
        #expect(script.complete == ["a 1 200"] && script.assembly.isEmpty)
    }

    // MARK: Losses

    @Test func eventsOfAnUnknownCallAreIgnored() {
        var script = Script()
        script.take(.admitted)
        script.take(.head(ResponseHead(status: .ok)))
        script.close()
        script.finish()
        script.take(.eventsDropped(7), call: 0)
        #expect(script.complete == [] && script.assembly.isEmpty)
    }

    @Test func whatIsLeftIsTaken() throws {
        var script = Script()
        script.take(Self.created)
        script.open("a", 302)
        script.close()
        script.open("b", nil)
        let left = script.assembly.takeAll()
        #expect(script.complete == ["a 1 302"] && script.assembly.isEmpty)
        #expect(left.map(\.request.url) == ["b"])
        let last = try #require(left.last)
        let entry = last.entry(bodyLimit: 0, revealsSecrets: false)
        #expect(entry.response.error == "the exchange had not ended" && entry.response.status == 0)
    }

    /// Calls whose events were lost do not stay.
    @Test func callsWithoutEventsAreForgotten() {
        var script = Script()
        let open = script.begin(call: 1)
        for call in 2...20_000 as ClosedRange<UInt64> {
            let capture = script.begin(call: call)
            script.end(capture, "body", call: call)
        }
        #expect(script.assembly.callCount < 12_000)
        script.take(Self.created)
        script.open("a", 200)
        script.close()
        script.finish()
        script.end(open, "kept")
        #expect(script.complete == ["a 1 200 kept"])
    }

    /// The exchanges whose ends were lost do not stay: they are told without their ends.
    @Test func exchangesWithoutEndsAreTold() throws {
        var script = Script()
        for call in 1...20_000 as ClosedRange<UInt64> {
            script.take(Self.created, call: call)
            script.open("\(call)", 200, call: call)
            script.finish(call: call)
            if call.isMultiple(of: 1_000) { script.take(.eventsDropped(1_000), call: 0) }
        }
        #expect(script.assembly.callCount < 12_000)
        let told = script.complete.count
        try #require(told > 8_000)
        #expect(script.complete == (1...told).map { "\($0) 1 200" })
        let left = script.assembly.takeAll()
        #expect(told + left.count == 20_000 && script.assembly.isEmpty)
    }

    @Test func aLostEndIsAnError() {
        var exchange = HARExchange(
            callID: 1, callStart: Date(timeIntervalSince1970: 0), attempt: 1, request: Request("http://a.example/"),
            queued: 0)
        exchange.hasLostEnd = true
        let entry = exchange.entry(bodyLimit: 0, revealsSecrets: false)
        #expect(entry.response.error == "the end of the exchange was lost")
    }

    /// A stream that lasts while thousands of other calls end is told at its end, as long as no events are lost.
    @Test func aLongStreamIsKept() {
        var script = Script()
        script.take(Self.created)
        script.open("a", 200)
        script.finish()
        for call in 2...20_000 as ClosedRange<UInt64> {
            let capture = script.begin(call: call)
            script.end(capture, "body", call: call)
        }
        #expect(script.complete == [] && script.assembly.callCount < 12_000)
        script.close()
        #expect(script.complete == ["a 1 200"])
    }

    /// An exchange begins as long after its call as its events say, however late they are told: a recorder that lags behind its session
    /// for a moment writes no exchange with a later instant than the one that follows it.
    @Test func theInstantOfAnExchange() throws {
        var assembly = HARAssembly()
        func take(_ call: EventSubject, _ kind: RequestEvent.Kind, at milliseconds: Int64) -> [HARExchange] {
            assembly.take(RequestEvent(of: call, attempt: 1, elapsed: milliseconds * 1_000_000, kind: kind))
        }
        func entry(ofCall id: UInt64, at start: TimeInterval) throws -> String {
            let date = Date(timeIntervalSince1970: start)
            let call = EventSubject(id: id, method: .get, url: "http://a.example/", start: date)
            #expect(take(call, .created(Request("http://a.example/")), at: 0).isEmpty)
            #expect(take(call, .queued(Request("http://a.example/")), at: 2).isEmpty)
            #expect(take(call, .admitted, at: 3).isEmpty)
            #expect(take(call, .exchangeEnded(Metrics(), nil), at: 5).isEmpty)
            let exchange = try #require(take(call, .failed(CancellationError()), at: 6).first)
            return exchange.entry(bodyLimit: 0, revealsSecrets: false).startedDateTime
        }
        #expect(try entry(ofCall: 1, at: 100.007) == "1970-01-01T00:01:40.009Z")
        #expect(try entry(ofCall: 2, at: 100.014) == "1970-01-01T00:01:40.016Z")
    }

    @Test func aBodyIsKeptUpToItsLimit() {
        var body = Script.body("", 200, 0)
        for _ in 0..<10 { body.append(Data("aé".utf8), limit: 8) }
        #expect(body.bytes == Data("aéaéa".utf8) && body.size == 30)
    }
}

extension ServerTrust {
    /// The trust in a server without certificates.
    fileprivate static let test = ServerTrust(host: "a.example", chain: [], sentChain: [])
}
