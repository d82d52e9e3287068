import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The lines of a log, and the facts of the call in each event.
@Suite(.timeLimit(.minutes(3)))
struct RequestLogTests {
    /// A log in memory, and its session. The clock stands still, so that all times are 0 ms.
    private struct Logged {
        let lines = Locked<[String]>([])
        let ended = LoopbackServer.Gate()
        let transport: MockTransport
        let session: Session

        /// Creates the log and its session.
        ///
        /// - Parameter end: The text in the last line that is waited for.
        init(
            _ level: RequestLog.Level, until end: String, baseURL: String? = nil,
            handler: @escaping MockTransport.Handler = { _ in .text("hello") }
        ) {
            var configuration = SessionConfiguration()
            configuration.baseURL = baseURL
            let (lines, ended) = (self.lines, self.ended)
            configuration.eventMonitors = [
                RequestLog(level) { line in
                    // The numbers of calls are unique in the process.
                    let line = line.replacing(#/\(call \d+\)/#, with: "(call)")
                    lines.withLock { $0.append(line) }
                    if line.contains(end) { ended.open() }
                }
            ]
            transport = MockTransport(handler)
            session = Session(configuration: configuration, transport: transport, clock: TestClock())
        }

        /// Returns the lines up to the end.
        func written() async throws -> [String] {
            try await ended.opened()
            return lines.withLock { $0 }
        }
    }

    @Test func oneLineForACall() async throws {
        let logged = Logged(.calls, until: "200")
        _ = try await logged.session.data("http://ann:pw@a.example/b?token=x#c")
        #expect(try await logged.written() == ["GET http://a.example/b?token=REDACTED 200 0 ms (call)"])
    }

    @Test func theFieldsThatAreSentAndReceived() async throws {
        let logged = Logged(.headers, until: "200 0 ms") { _ in
            MockResponse(headers: [.contentType: "text/plain", .setCookie: "a=s3cret"])
        }
        _ = try await logged.session.data(
            "http://a.example/", headers: [.authorization: "Bearer s3cret", .accept: "a/b"])
        let lines = try await logged.written()
        let sent = try #require(lines.first { $0.contains(" queued ") })
        #expect(
            sent.contains("Accept: a/b") && sent.contains("User-Agent: ")
                && sent.contains("Authorization: Bearer REDACTED"))
        let received = try #require(lines.first { $0.contains(" head 200 ") })
        #expect(received.contains("Content-Type: text/plain") && received.contains("Set-Cookie: REDACTED"))
        #expect(!lines.joined().contains("s3cret"))
    }

    @Test func theURLsInFieldsHaveNoSecrets() async throws {
        let logged = Logged(.headers, until: "201 0 ms") { _ in
            MockResponse(status: 201, headers: [.location: "http://a.example/b?token=s3cret"])
        }
        _ = try await logged.session.data(
            "http://a.example/", headers: [.referer: "http://ann:s3cret@a.example/?sig=s3cret"])
        let lines = try await logged.written().joined(separator: "\n")
        #expect(lines.contains("Location: http://a.example/b?token=REDACTED"))
        #expect(lines.contains("Referer: http://a.example/?sig=REDACTED") && !lines.contains("s3cret"))
    }

    @Test func theURLIsCompleted() async throws {
        let logged = Logged(.calls, until: "404", baseURL: "http://a.example/v1/") { _ in MockResponse(status: 404) }
        _ = try await logged.session.data(Request("users", method: .post))
        #expect(try await logged.written() == ["POST http://a.example/v1/users 404 0 ms (call)"])
    }

    @Test func aFailure() async throws {
        let logged = Logged(.calls, until: "failed") { _ in
            throw TransportFailure(.exchangeFailed(.receive("a\nb")))
        }
        let request = Request("http://a.example/").withRetrier(
            Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
        _ = try? await logged.session.data(request)
        let reason = "the response could not be received: a\\nb"
        #expect(try await logged.written() == ["GET http://a.example/ failed 0 ms, 2 attempts (call): \(reason)"])
    }

    /// The body of a refused response is not written, even if the refusal is the cause of another error.
    @Test func bodiesOfCausesAreNotWritten() {
        var cause = TrellisError(.validationFailed(.status(503)))
        cause.bodyExcerpt = TrellisError.BodyExcerpt(Data("s3cret".utf8))
        let error = TrellisError(.bodyFailed(.notReplayable), underlying: cause)
        let event = RequestEvent(
            of: EventSubject(id: 1, method: .post, url: "http://a.example/"), attempt: 1, elapsed: 0,
            kind: .failed(error))
        #expect("\(error)".contains("s3cret"))
        #expect(event.logLine().contains("503") && !event.logLine().contains("s3cret"))
    }

    @Test(arguments: [true, false])
    func aCancellation(_ isOfTask: Bool) async throws {
        let never = LoopbackServer.Gate()
        let logged = Logged(.calls, until: "cancelled") { _ in
            try await never.opened()
            return .text("")
        }
        if isOfTask {
            let task = Task { try await logged.session.data("http://a.example/") }
            try await logged.transport.waitUntilRequested(count: 1)
            task.cancel()
        } else {
            let handle = logged.session.request("http://a.example/")
            handle.resume()
            try await logged.transport.waitUntilRequested(count: 1)
            handle.cancel()
        }
        #expect(try await logged.written() == ["GET http://a.example/ cancelled 0 ms (call)"])
    }

    @Test func everyEvent() async throws {
        let logged = Logged(.verbose, until: "/a 200 ") { request in
            request.url.hasSuffix("/a")
                ? MockResponse(status: 302, headers: [.location: "/b?sig=x"]) : .text("hello")
        }
        _ = try await logged.session.data("http://a.example/a")
        let words = [
            "created", "queued", "admitted", "connected", "request sent", "head 302", "exchange ended",
            "redirected 302 http://a.example/a → http://a.example/b?sig=REDACTED",
            "queued as GET http://a.example/b?sig=REDACTED", "admitted", "connected", "request sent", "head 200",
            "exchange ended", "200",
        ]
        #expect(try await logged.written() == words.map { "GET http://a.example/a \($0) 0 ms (call)" })
    }

    /// The status and the content type are conditions of one reading.
    @Test func aReadingIsAcceptedOnce() async throws {
        let logged = Logged(.verbose, until: " read in ")
        #expect(try await logged.session.string("http://a.example/") == "hello")
        let lines = try await logged.written()
        #expect(lines.filter { $0.contains(" accepted ") } == ["GET http://a.example/ accepted 0 ms (call)"])
    }

    @Test(
        arguments: [
            (.lookingUp(host: "a.example"), "looking up a.example"),
            (.lookedUp(host: "a.example"), "looked up a.example"),
            (.connecting(to: "192.0.2.1:443"), "connecting to 192.0.2.1:443"),
            (.egressRefused(.port(25)), "refused by the egress policy: the port 25 is not allowed"),
            (.handshaking(with: "a.example"), "TLS handshake with a.example"),
            (.connected(ConnectionInfo()), "connected"),
            (.requestSent(bodySize: 5), "request sent with a body of 5 bytes"),
            (.serverTrustEvaluated(nil, nil), "trusts the server"),
            (.downloadContinued(at: 7), "download continued at byte 7"),
            (.fileMoved(from: "/a", to: "/b"), "moved /a to /b"),
            (.eventsDropped(1), "lost 1 event, because this log was too slow"),
        ] as [(RequestEvent.Kind, String)])
    func theLinesOfConnectionsAndFiles(_ kind: RequestEvent.Kind, _ words: String) {
        let subject = EventSubject(id: 7, method: .get, url: "http://a.example/")
        let event = RequestEvent(of: subject, attempt: 1, elapsed: 0, kind: kind)
        #expect(event.logLine() == "GET http://a.example/ \(words) 0 ms (call 7)")
    }

    @Test func theConnectionInWords() {
        var connection = ConnectionInfo()
        (connection.peerHost, connection.peerPort, connection.version) = ("::1", 443, .http2)
        #expect("\(connection)" == "connected to [::1]:443 over HTTP/2")
        (connection.isReused, connection.isShared) = (true, true)
        #expect("\(connection)" == "connected to [::1]:443 over HTTP/2 on a shared connection")
        connection.streamNumber = 5
        #expect("\(connection)" == "connected to [::1]:443 over HTTP/2 on a shared connection, stream 5")
    }

    @Test func everyEventTellsTheRequestOfItsCall() async throws {
        var configuration = SessionConfiguration()
        configuration.defaultQueryItems = [URLQueryItem(name: "api_key", value: "x")]
        let session = Session(
            configuration: configuration,
            transport: MockTransport { request in
                request.url.contains("/b")
                    ? .text("") : MockResponse(status: 303, headers: [.location: "http://b.example/b"])
            })
        let events = session.requestEvents
        _ = try await session.data(Request("http://a.example/a", method: .post))
        for await event in events {
            #expect(event.method == .post)
            #expect(event.url == "http://a.example/a?api_key=REDACTED")
            if event.isEndOfCall { break }
        }
    }

    @Test func aLineIsOneLine() async throws {
        let logged = Logged(.calls, until: "failed")
        _ = try? await logged.session.data("http://a.example/\u{1B}[2J\n\u{2028}")
        _ = try? await logged.session.data("nowhere\r\n")
        let lines = try await logged.written()
        #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x2028 })
    }

    @Test func theShutdownWaitsForTheLinesOfAllCalls() async throws {
        let lines = Locked(0), gate = LoopbackServer.Gate()
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [
            RequestLog { _ in
                try? await gate.opened()
                for _ in 0..<20 { await Task.yield() }
                lines.withLock { $0 += 1 }
            }
        ]
        // The two seconds for the lines do not pass.
        let session = Session(
            configuration: configuration, transport: MockTransport { _ in .text("hello") }, clock: TestClock())
        for _ in 0..<50 { _ = try await session.data("http://a.example/") }
        gate.open()
        await session.shutdown()
        #expect(lines.withLock { $0 } == 50)
    }

    /// A monitor that never returns does not keep the session.
    @Test func aMonitorThatHangsDelaysTheShutdownByItsLimitAtMost() async {
        let gate = LoopbackServer.Gate()
        defer { gate.open() }
        let hub = EventHub(monitors: [RequestLog { _ in try? await gate.opened() }], bufferSize: 10)
        hub.emit(
            RequestEvent(
                of: EventSubject(id: 1, method: .get, url: "http://a.example/"), attempt: 1, elapsed: 0,
                kind: .failed(CancellationError())), in: .calls)
        await hub.finish(within: .milliseconds(10))
        #expect(!hub.isObserved)
    }
}
