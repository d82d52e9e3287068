import CurlEngine
public import HTTPTypes
@_spi(Transport) public import TrellisCore

/// A transport without a network that knows which requests its test expects: it responds to those, and nothing else.
///
/// ```swift
/// let router = MockRouter(baseURL: "https://api.example.com/v2/")
/// router.route(.get, "users/{id}").respond { match in .json(#"{"name": "User \#(match["id"] ?? "")"}"#) }
/// router.route(.post, "users", .json(#"{"name": "Ada"}"#)).respond(with: MockResponse(status: 201))
/// let session = Session(transport: router)
/// …
/// try router.verify()
/// ```
///
/// A router is strict. A request that matches no route fails with an error that shows the nearest route and the conditions that the
/// request does not meet. Such a request is also a problem of the test, even if the code under test handles the error, and so is a route
/// that was not requested (``MockRoute/optional()`` permits that). ``verify()`` throws the problems; ``withTransport(_:_:)-(Transport,_)``
/// calls it, and the trait `.trellis(.router { … })` of `TrellisTestTraits` reports them at the lines of the routes.
///
/// The first route in the order of their addition that matches, and has a response left, responds.
public final class MockRouter: TestTransport {
    private let table = MockRouteTable()
    private let baseURL: String?
    private let transport: MockTransport

    /// Creates a router without routes.
    ///
    /// - Parameter baseURL: The absolute URL that the patterns are relative to, as requests are to
    ///   ``/Trellis/SessionConfiguration/baseURL``; if `nil`, a pattern without a host is one of all hosts.
    public init(baseURL: String? = nil) {
        self.baseURL = baseURL
        transport = MockTransport(deciding: { [table] in table.reaction(to: $0) })
    }

    /// `false`: the session asks no resolver and reads no certificates.
    @_spi(Transport) public var makesConnections: Bool { false }

    /// The router of the present test: from the innermost ``withTransport(_:_:)-(Transport,_)`` or trait, also inside of a
    /// ``FaultTransport``; `nil` if there is none, or it has another transport.
    public static var current: MockRouter? { TransportOverride.current?.transport.innermost as? MockRouter }

    /// Adds a route.
    ///
    /// ```swift
    /// router.route(.get, "/users/{id}")                                  // on any host
    /// router.route(.get, "https://example.com/files/{+path}")            // with all remaining segments as `path`
    /// router.route(.get, "/search?q=swift", .header("Accept", "text/html"))
    /// ```
    ///
    /// A variable `{name}` stands for one or more bytes of a path segment (``RouteMatch/parameters``), and `{+name}`, alone in the last
    /// segment, for the rest of the path. The items of a query in the pattern are conditions like ``RouteCondition/query(_:_:)``. A
    /// request may have further query items and fields: a route restricts no more than its conditions say.
    ///
    /// - Parameters:
    ///   - method: The method; any if it is `nil`.
    ///   - pattern: A path or an absolute URL.
    ///   - conditions: Further conditions. A request has to meet all of them.
    ///   - fileID: The file that problems of the route are reported at: the caller's, as `filePath`, `line` and `column` are.
    ///   - filePath: The path of the file.
    ///   - line: The line.
    ///   - column: The column.
    /// - Returns: The route, for its responses. A route without a response is a problem when it is requested.
    @discardableResult
    public func route(
        _ method: HTTPRequest.Method?, _ pattern: String, _ conditions: RouteCondition..., fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) -> MockRoute {
        let pattern = RoutePattern(method, pattern, base: baseURL)
        let location = CodeLocation(fileID: fileID, filePath: filePath, line: line, column: column)
        let route = MockRoute(pattern, pattern.conditions + conditions, at: location)
        table.add(route)
        return route
    }

    /// Starts an attempt.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        transport.start(request, events: events)
    }

    // MARK: Requests

    /// The requests that have been received completely, in that order, whether they have matched a route or not.
    public var requests: [RecordedRequest] { transport.recordedRequests }

    /// The number of attempts that are under way.
    public var activeCount: Int { transport.activeCount }

    /// Waits until `count` requests, counted from the start, have been received completely.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilRequested(count: Int) async throws { try await transport.waitUntilRequested(count: count) }

    /// Waits until no attempt is under way.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func waitUntilIdle() async throws { try await transport.waitUntilIdle() }

    // MARK: Problems

    /// The requests that no route has responded to.
    public var unmatched: [TestProblem] { table.unmatched }

    /// Checks that every request has matched a route, and that every route was requested.
    ///
    /// - Throws: ``TestProblems`` with the requests without a route, and then the routes without their requests.
    public func verify() throws {
        let problems = table.unmatched + table.unused
        guard problems.isEmpty else { throw TestProblems(problems) }
    }

    /// Returns the problems that ``verify()`` throws; only the requests without a route if the test has failed.
    public func finish(hasFailed: Bool) -> [TestProblem] { table.unmatched + (hasFailed ? [] : table.unused) }
}
