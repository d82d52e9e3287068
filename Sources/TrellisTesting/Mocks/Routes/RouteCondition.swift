import CurlEngine
import HTTPTypes
import TrellisCore

/// A condition that a request has to meet for a route of a ``MockRouter``, besides its method and its URL.
///
/// ```swift
/// router.route(.get, "/search", .query("q", "swift"), .header("Accept", "application/json"))
/// router.route(.post, "/users", .json(#"{"name": "Ada"}"#)).respond(with: MockResponse(status: 201))
/// ```
///
/// Texts are compared byte by byte. Query items and forms are decoded first, with a plus sign as a blank.
public struct RouteCondition: Sendable, CustomStringConvertible {
    /// The condition in words, without secrets.
    public let description: String
    /// Returns the difference between a request and the condition; `nil` if the request meets the condition.
    let mismatch: @Sendable (RoutedRequest) -> RouteMismatch?

    init(_ description: String, _ mismatch: @escaping @Sendable (RoutedRequest) -> RouteMismatch?) {
        self.description = description
        self.mismatch = mismatch
    }

    // MARK: URL

    /// Returns the condition that the host of the URL is a certain one, in any case, with any scheme and port.
    public static func host(_ host: String) -> RouteCondition {
        let expected = host.lowercasedASCII()
        return RouteCondition("host \(expected)") { request in
            let actual = request.transportRequest.wire.url.host.lowercasedASCII()
            return actual.hasSameBytes(as: expected) ? nil : RouteMismatch("host", expected: expected, actual: actual)
        }
    }

    /// Returns the condition that the query has an item, and any others.
    public static func query(_ name: String, _ value: String) -> RouteCondition {
        let expected = URLItem(name: name, value: value)
        return RouteCondition("query \(expected.description)") { request in
            if request.queryItems.contains(where: expected.isSame) { return nil }
            let others = request.queryItems.filter { $0.name.hasSameBytes(as: name) }
            return RouteMismatch.ofSecret(
                "query \(name)", expected: [expected.shownValue], actual: others.map(\.shownValue))
        }
    }

    /// Returns the condition that the query has an item with a name, and any value.
    public static func query(_ name: String) -> RouteCondition {
        RouteCondition("query \(name)") { request in
            request.queryItems.contains { $0.name.hasSameBytes(as: name) }
                ? nil : RouteMismatch("query \(name)", expected: "any value", actual: "missing")
        }
    }

    /// Returns the condition that the query has these items and no others, in any order.
    public static func onlyQuery(_ items: KeyValuePairs<String, String>) -> RouteCondition {
        let expected = items.map { URLItem(name: $0.key, value: $0.value) }
        return RouteCondition("only query \(RouteMismatch.list(expected))") { request in
            RouteMismatch.ofItems("query", expected: expected, actual: request.queryItems)
        }
    }

    // MARK: Fields

    /// Returns the condition that a field has a value. The values of several fields are joined with commas.
    ///
    /// - Parameters:
    ///   - name: The name of the field, in any case.
    ///   - value: The value, byte by byte.
    public static func header(_ name: String, _ value: String) -> RouteCondition {
        let shown = shownField(name, value)
        return RouteCondition("\(name): \(shown)") { request in
            let actual = request.transportRequest[name]
            if let actual, actual.hasSameBytes(as: value) { return nil }
            return RouteMismatch.ofSecret(
                "field \(name)", expected: [shown], actual: actual.map { [shownField(name, $0)] } ?? [])
        }
    }

    /// Returns the condition that there is a field, with any value.
    ///
    /// - Parameter name: The name of the field, in any case.
    public static func header(_ name: String) -> RouteCondition {
        RouteCondition("a field \(name)") { request in
            request.transportRequest[name] == nil
                ? RouteMismatch("field \(name)", expected: "any value", actual: "missing") : nil
        }
    }

    /// Returns the condition that there is no field of a name.
    ///
    /// - Parameter name: The name of the field, in any case.
    public static func noHeader(_ name: String) -> RouteCondition {
        RouteCondition("no field \(name)") { request in
            request.transportRequest[name].map {
                RouteMismatch("field \(name)", expected: "none", actual: shownField(name, $0))
            }
        }
    }

    private static func shownField(_ name: String, _ value: String) -> String {
        guard let name = HTTPField.Name(name) else { return value }
        return RouteMismatch.shortened(SecretFields.redacted(HTTPField(name: name, value: value)))
    }

    // MARK: Any part

    /// Returns a condition of the test's own.
    ///
    /// - Parameters:
    ///   - description: The condition in words, after "the request", such as `has a nonce`.
    ///   - isMet: Returns whether a request meets the condition. Called on the engine thread of the session, and must not block.
    public static func satisfying(
        _ description: String, _ isMet: @escaping @Sendable (RecordedRequest) -> Bool
    ) -> RouteCondition {
        RouteCondition(description) { request in
            isMet(request.recorded)
                ? nil : RouteMismatch("condition", expected: "that the request \(description)", actual: "not met")
        }
    }
}

/// The difference between a request and one condition of a route.
struct RouteMismatch: Sendable, CustomStringConvertible {
    /// The maximum number of characters of a value in a message.
    private static let longestValue = 120

    /// The part of the request.
    let part: String
    let expected: String
    let actual: String
    /// The weight of the difference in the choice of the nearest route.
    var distance = 1

    init(_ part: String, expected: String, actual: String, distance: Int = 1) {
        self.part = part
        self.expected = expected
        self.actual = actual
        self.distance = distance
    }

    var description: String { "\(part): expected \(expected), was \(actual)" }

    /// Returns the difference between lists of values that are shown without secrets, so that different values may look the same.
    static func ofSecret(_ part: String, expected: [String], actual: [String]) -> RouteMismatch {
        if actual.isEmpty { return RouteMismatch(part, expected: expected.joined(separator: ", "), actual: "missing") }
        let isSame = expected.count == actual.count && zip(expected, actual).allSatisfy { $0.hasSameBytes(as: $1) }
        return RouteMismatch(
            part, expected: expected.joined(separator: ", "),
            actual: isSame ? "another value" : actual.joined(separator: ", "))
    }

    /// Returns the difference between items in any order; `nil` if they are the same.
    static func ofItems(_ part: String, expected: [URLItem], actual: [URLItem]) -> RouteMismatch? {
        var rest = actual
        var missing: [URLItem] = []
        for item in expected {
            if let index = rest.firstIndex(where: item.isSame) { rest.remove(at: index) } else { missing.append(item) }
        }
        guard !missing.isEmpty || !rest.isEmpty else { return nil }
        return RouteMismatch(part, expected: list(expected), actual: list(actual), distance: missing.count + rest.count)
    }

    /// Returns items in words, without secrets.
    static func list(_ items: [URLItem]) -> String {
        items.isEmpty ? "none" : shortened(items.map(\.description).joined(separator: "&"))
    }

    /// Returns a value for a message, unless its name indicates that it is a secret.
    static func shown(_ value: String, named name: String) -> String {
        URLRedaction.isSecret(name[...]) ? "REDACTED" : shortened(value)
    }

    /// Returns the beginning of a long text.
    static func shortened(_ text: String) -> String {
        text.count <= longestValue ? text : "\(text.prefix(longestValue))…"
    }
}
