import CurlEngine
import HTTPTypes
import TrellisCore

/// A route of a ``MockRouter``: the requests that match, and their responses.
///
/// A route with one response gives it to every request. A route with several, added with ``then(_:)-(MockResponse)``, gives one to each
/// request, and a request after the last one fails: the list says how many requests the test expects. ``thenAlways(_:)`` adds a last
/// response that is repeated.
///
/// ```swift
/// router.route(.get, "/users/{id}").respond { match in .json(#"{"id": "\#(match["id"] ?? "")"}"#) }
/// router.route(.get, "/jobs/1").respond(with: MockResponse(status: 503)).then(.json(#"{"state": "done"}"#))
/// ```
///
/// Closures that do not wait run on the engine thread of the session and must not block; closures with an `await` run in a task of
/// their own.
public final class MockRoute: Sendable {
    /// A closure that makes the response to a request at once.
    public typealias Responder = @Sendable (RouteMatch) throws -> MockResponse
    /// A closure that makes the response to a request, and may wait.
    public typealias AsyncResponder = @Sendable (RouteMatch) async throws -> MockResponse

    /// The source of a response.
    enum Source: Sendable {
        case response(MockResponse)
        case immediate(Responder)
        case waiting(AsyncResponder)
    }

    /// The source of the response to a request.
    enum Turn {
        case source(Source, count: Int)
        /// All responses of the list were given.
        case exhausted(count: Int)
        /// The route has no response.
        case undefined
    }

    private struct State {
        var sources: [Source] = []
        /// Whether the last response is repeated.
        var repeatsLast = true
        var requests: [RecordedRequest] = []
        var isOptional = false
    }

    let pattern: RoutePattern
    let conditions: [RouteCondition]
    /// The place in the code of the test that has added the route.
    public let location: CodeLocation
    private let state = Locked(State())

    init(_ pattern: RoutePattern, _ conditions: [RouteCondition], at location: CodeLocation) {
        self.pattern = pattern
        self.conditions = conditions
        self.location = location
    }

    // MARK: Responses

    /// Sets the response to the requests of the route.
    @discardableResult
    public func respond(with response: MockResponse) -> MockRoute { set(.response(response)) }

    /// Sets the closure that makes the responses to the requests of the route. It must not block.
    @discardableResult
    public func respond(_ make: @escaping Responder) -> MockRoute { set(.immediate(make)) }

    /// Sets the closure that makes the responses to the requests of the route, each in its own task.
    @discardableResult
    public func respond(_ make: @escaping AsyncResponder) -> MockRoute { set(.waiting(make)) }

    /// Adds the response to the next request. Each of the responses is then given once.
    @discardableResult
    public func then(_ response: MockResponse) -> MockRoute { add(.response(response)) }

    /// Adds the closure that makes the response to the next request. Everything else is as in ``then(_:)-(MockResponse)``.
    @discardableResult
    public func then(_ make: @escaping Responder) -> MockRoute { add(.immediate(make)) }

    /// Adds the closure that makes the response to the next request, and may wait. Everything else is as in
    /// ``then(_:)-(MockResponse)``.
    @discardableResult
    public func then(_ make: @escaping AsyncResponder) -> MockRoute { add(.waiting(make)) }

    /// Adds the response to all further requests. The responses before it are given once each.
    @discardableResult
    public func thenAlways(_ response: MockResponse) -> MockRoute { add(.response(response), repeats: true) }

    /// Lets the route be unused: no request, or fewer than it has responses, is no problem then.
    @discardableResult
    public func optional() -> MockRoute {
        state.withLock { $0.isOptional = true }
        return self
    }

    /// The requests that the route has matched and had a response for, in order.
    public var requests: [RecordedRequest] { state.withLock { $0.requests } }

    private func set(_ source: Source) -> MockRoute {
        state.withLock { ($0.sources, $0.repeatsLast) = ([source], true) }
        return self
    }

    private func add(_ source: Source, repeats: Bool = false) -> MockRoute {
        state.withLock { state in
            state.sources.append(source)
            state.repeatsLast = repeats
        }
        return self
    }

    // MARK: Requests

    /// Returns the values of the path's variables if a request matches the route; `nil` if it does not.
    func match(_ request: RoutedRequest) -> [String: String]? {
        guard let parameters = pattern.match(request) else { return nil }
        for condition in conditions where condition.mismatch(request) != nil { return nil }
        return parameters
    }

    /// Returns the differences between a request and the route.
    func mismatches(_ request: RoutedRequest) -> [RouteMismatch] {
        pattern.mismatches(request) + conditions.compactMap { $0.mismatch(request) }
    }

    /// Takes the source of the next response, and records the request, unless there is none.
    func turn(for request: RecordedRequest) -> Turn {
        state.withLock { state in
            guard let last = state.sources.indices.last else {
                state.requests.append(request)
                return .undefined
            }
            let index = state.requests.count
            guard index <= last || state.repeatsLast else { return .exhausted(count: last + 1) }
            state.requests.append(request)
            return .source(state.sources[min(index, last)], count: index + 1)
        }
    }

    /// The problem of a route that has got fewer requests than it expects, if any.
    var unused: TestProblem? {
        let (count, expected, isOptional) = state.withLock { state in
            // The responses in front of one that is repeated are given once each.
            let once = state.repeatsLast ? max(1, state.sources.count - 1) : state.sources.count
            return (state.requests.count, once, state.isOptional)
        }
        guard !isOptional, count < expected else { return nil }
        let text = count == 0 ? "was not requested" : "has \(expected) responses, of which \(count) were given"
        return TestProblem("\(description) \(text)", at: location)
    }
}

extension MockRoute: CustomStringConvertible {
    /// The method, the pattern and the conditions.
    public var description: String {
        let list = conditions.map(\.description).joined(separator: ", ")
        return list.isEmpty ? pattern.description : "\(pattern.description) with \(list)"
    }
}

/// The method and the URL of a route.
struct RoutePattern: Sendable, CustomStringConvertible {
    private let method: HTTPRequest.Method?
    /// The scheme, the host and the port, as in the URLs of requests; `nil` if the route is one of all hosts.
    private let origin: String?
    private let path: PathPattern
    /// The items of the query.
    let conditions: [RouteCondition]

    /// Creates the pattern of a path or of an absolute URL.
    ///
    /// - Parameter base: The URL that a relative pattern is resolved against.
    init(_ method: HTTPRequest.Method?, _ pattern: String, base: String?) {
        self.method = method
        let whole = Self.resolve(pattern, against: base)
        let target = whole.schemeMark.map { whole[whole[$0.upperBound...].prefix(beforeBytes: "/?").endIndex...] }
        if let target {
            let text = String(whole[..<target.startIndex])
            origin = (try? WireURL(parsing: text + "/"))?.origin ?? text
        } else {
            origin = nil
        }
        let rest = target ?? whole[...]
        let text = String(rest.prefix(beforeBytes: "?"))
        path = PathPattern(text.isEmpty ? "/" : text)
        let mark = rest.firstIndex(ofByte: "?")
        let query = mark.map { String(rest[$0...].dropFirst()) } ?? ""
        conditions = URLBytes.items(query).map { .query($0.name, $0.value) }
    }

    /// Returns a pattern with the origin, and with the folder of the path, that it has relative to a URL.
    private static func resolve(_ pattern: String, against base: String?) -> String {
        if pattern.schemeMark != nil { return pattern }
        guard let base else { return pattern.hasBytePrefix("/") ? pattern : "/" + pattern }
        let start = base.schemeMark?.upperBound ?? base.startIndex
        let authorityEnd = base[start...].prefix(beforeBytes: "/?#").endIndex
        let path = base[authorityEnd...].prefix(beforeBytes: "?#")
        if pattern.hasBytePrefix("/") { return "\(base[..<authorityEnd])\(pattern)" }
        guard let slash = path.lastIndex(ofByte: "/") else { return "\(base[..<authorityEnd])/\(pattern)" }
        return "\(base[...slash])\(pattern)"
    }

    /// Returns the values of the path's variables if a request matches; `nil` if it does not.
    func match(_ request: RoutedRequest) -> [String: String]? {
        if let method, method != request.transportRequest.method { return nil }
        if let origin, !origin.hasSameBytes(as: request.origin) { return nil }
        return path.match(request)
    }

    /// Returns the differences between a request and the pattern. Differences in the path weigh most.
    func mismatches(_ request: RoutedRequest) -> [RouteMismatch] {
        var found: [RouteMismatch] = []
        if let method, method != request.transportRequest.method {
            found.append(
                RouteMismatch(
                    "method", expected: method.rawValue, actual: request.transportRequest.method.rawValue, distance: 4))
        }
        if let origin, !origin.hasSameBytes(as: request.origin) {
            found.append(RouteMismatch("origin", expected: origin, actual: request.origin, distance: 4))
        }
        if path.match(request) == nil {
            let distance = 4 + 2 * path.distance(to: request)
            found.append(
                RouteMismatch(
                    "path", expected: RouteMismatch.shortened(path.text), actual: RouteMismatch.shortened(request.path),
                    distance: distance))
        }
        return found
    }

    var description: String { "\(method?.rawValue ?? "any method") \(origin ?? "")\(path.text)" }
}
