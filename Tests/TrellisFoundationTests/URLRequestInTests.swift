import Foundation
import FoundationNetworking
import HTTPTypes
import Testing
import Trellis
import TrellisFoundation
import TrellisTesting

/// A `URLRequest` becomes a request of a session.
struct URLRequestInTests {
    private static func request(
        _ url: String = "http://localhost/a?b=c", _ change: (inout URLRequest) -> Void = { _ in }
    ) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        change(&request)
        return request
    }

    /// Returns the error of a `URLRequest` that cannot become a request.
    private static func failure(_ change: (inout URLRequest) -> Void) throws -> TrellisError {
        let request = try request("http://localhost/a?b=c", change)
        return try #require(throws: TrellisError.self) { try request.asRequest() }
    }

    @Test func aURLIsAPlainGET() throws {
        let request = try Self.request().asRequest()
        #expect(request.method == .get)
        #expect(request.url == "http://localhost/a?b=c")
        #expect(request.headers.isEmpty)
        #expect(request.body == nil)
        #expect(request.timeouts == nil)
    }

    @Test(arguments: ["DELETE", "PATCH", "QUERY", "get", "made-up"])
    func theMethodIsWhatFoundationMakesOfIt(_ method: String) throws {
        let request = try Self.request { $0.httpMethod = method }
        #expect(try request.asRequest().method.rawValue == request.httpMethod)
    }

    @Test func aURLThatIsRelativeToAnotherIsResolved() throws {
        let url = try #require(URL(string: "c?d", relativeTo: URL(string: "http://localhost/a/b")))
        #expect(try Self.request { $0.url = url }.asRequest().url == "http://localhost/a/c?d")
    }

    @Test func fieldsComeInTheOrderOfTheirNames() throws {
        let request = try Self.request {
            $0.setValue("3", forHTTPHeaderField: "X-C")
            $0.setValue("1", forHTTPHeaderField: "Accept")
            $0.addValue("2", forHTTPHeaderField: "accept")
            $0.setValue("", forHTTPHeaderField: "X-A")
        }
        #expect(
            try request.asRequest().headers.map { "\($0.name.rawName): \($0.value)" }
                == ["Accept: 1,2", "X-A: ", "X-C: 3"])
    }

    @Test(arguments: ["a\r\nX-B: c", "a\nb", "a\rb", "a\0b"])
    func aFieldThatWouldEndItsLineIsRefused(_ value: String) throws {
        // `setValue` itself would leave such a value out.
        let error = try Self.failure { $0.allHTTPHeaderFields = ["X-A": value] }
        #expect(error.reason == .invalidRequest(.headerField("X-A")))
        #expect(error.url == "http://localhost/a?b=c")
    }

    @Test func aFieldWhoseNameIsNoneIsRefused() throws {
        let error = try Self.failure { $0.setValue("b", forHTTPHeaderField: "X A") }
        #expect(error.reason == .invalidRequest(.headerField("X A")))
    }

    @Test func aMethodThatIsNoneIsRefused() throws {
        let error = try Self.failure { $0.httpMethod = "GET /" }
        #expect(error.reason == .invalidRequest(.method("GET /")))
    }

    @Test func aRequestWithoutAURLIsRefused() throws {
        let request = try Self.request { $0.url = nil }
        #expect { try request.asRequest() } throws: { ($0 as? TrellisError)?.kind == .invalidURL }
    }

    @Test func aStreamIsRefusedWithWhatToGiveInstead() throws {
        let error = try Self.failure { $0.httpBodyStream = InputStream(data: Data("x".utf8)) }
        #expect(error.kind == .invalidRequest)
        #expect("\(error)".contains("InputStream"))
        #expect("\(error)".contains("asynchronous sequence"))
    }

    // MARK: Time

    /// The rows of intervals: seconds; the limits for connecting, head and silence (`nil` if there is none); the total of a response in
    /// memory.
    static let intervals: [(Double, Duration?, Duration?)] = [
        (5, .seconds(5), .seconds(300)), (0.25, .milliseconds(250), .seconds(300)),
        (300, .seconds(300), .seconds(300)), (400, .seconds(400), .seconds(400)), (.infinity, nil, nil),
        (1e12, nil, nil),
    ]

    @Test(arguments: intervals)
    func anIntervalIsHowLongNothingMayHappen(
        _ interval: Double, _ limit: Duration?, _ total: Duration?
    ) throws {
        let timeouts = try #require(try Self.request { $0.timeoutInterval = interval }.asRequest().timeouts)
        #expect((timeouts.connect, timeouts.responseHead, timeouts.idle) == (limit, limit, limit))
        #expect(timeouts.total == total && timeouts.collectedTotal == total)
        // The total is not named by the request.
        #expect(timeouts.withTotal(atLeast: .seconds(500)).collectedTotal == (total == nil ? nil : .seconds(500)))
    }

    @Test(arguments: [60, 0, -1, .nan] as [Double])
    func anIntervalThatSaysNothingLeavesTheSessionsLimits(_ interval: Double) throws {
        #expect(try Self.request { $0.timeoutInterval = interval }.asRequest().timeouts == nil)
    }

    @Test(
        arguments: [
            (nil, nil), (.seconds(2), .seconds(5)), (.seconds(9), .seconds(9)), (Timeouts.inherited, .seconds(300)),
        ] as [(Duration?, Duration?)])
    func theLimitInTotalIsTheCallers(_ total: Duration?, _ expected: Duration?) throws {
        let request = try Self.request { $0.timeoutInterval = 5 }
        #expect(try Request(request, refining: Timeouts(total: total)).timeouts?.total == expected)
    }

    @Test(arguments: [60, 0, -1, .nan] as [Double])
    func anIntervalThatSaysNothingLeavesTheCallersLimits(_ interval: Double) throws {
        let request = try Self.request { $0.timeoutInterval = interval }
        let timeouts = Timeouts(idle: nil, total: .seconds(5))
        #expect(try Request(request, refining: timeouts).timeouts == timeouts)
    }

    /// Returns the result of reading a response that has a byte every 100 s for ten minutes, in a session on a scripted
    /// transport.
    private static func drip(
        _ timeouts: Timeouts = Timeouts(), _ read: @Sendable @escaping (Session, URLRequest) async throws -> Data
    ) async throws -> Result<Data, any Error> {
        let clock = TestClock()
        let transport = ScriptedTransport(clock: clock)
        var configuration = SessionConfiguration()
        configuration.timeouts = timeouts
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let request = try request { $0.timeoutInterval = 400 }
        let reading = Task { try await read(session, request) }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 200)
        for _ in 0..<6 {
            await session.settle()
            clock.move(by: .seconds(100))
            await session.settle()
            attempt.receiveBody("x")
        }
        attempt.end()
        return await reading.result
    }

    @Test func aLongIntervalIsNoEndOfAStream() async throws {
        let bytes = try await Self.drip { try await $0.stream($1).chunks.collect(upTo: 100) }.get()
        #expect(bytes == Data("xxxxxx".utf8))
    }

    @Test func aLongIntervalIsTheTotalOfAnAnswerInMemory() async throws {
        let result = try await Self.drip { try await $0.data($1).0 }
        #expect { try result.get() } throws: { ($0 as? TrellisError)?.reason == .timedOut(.total) }
    }

    @Test func theTotalThatTheSessionNamesStays() async throws {
        let result = try await Self.drip(Timeouts(total: .seconds(150))) {
            try await $0.stream($1).chunks.collect(upTo: 100)
        }
        #expect { try result.get() } throws: { ($0 as? TrellisError)?.reason == .timedOut(.total) }
    }

    // MARK: On the way

    @Test(arguments: [("PUT", "on", "PUT on"), ("POST", "", "POST "), ("GET", "", "GET "), ("GET", "q", "GET q")])
    func aSessionSendsIt(_ method: String, _ body: String, _ seen: String) async throws {
        let server = try LoopbackServer.http { .text("\($0.method) \(String(decoding: $0.body, as: UTF8.self))") }
        let request = try Self.request(server.url("/")) {
            $0.httpMethod = method
            $0.httpBody = Data(body.utf8)
        }
        let (data, response) = try await Session.default.data(request)
        #expect(String(decoding: data, as: UTF8.self) == seen)
        #expect(try #require(HTTPURLResponse(response)).statusCode == 200)
    }

    @Test func anEmptyBodyIsNone() throws {
        // A `HEAD` request with a body would be refused.
        let request = try Self.request {
            $0.httpMethod = "HEAD"
            $0.httpBody = Data()
        }
        #expect(try request.asRequest().body == nil)
    }
}
