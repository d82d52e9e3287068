import CurlEngine
public import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The conditions of the body. A streamed body is compared when it is complete; a request without a body has an empty one.
extension RouteCondition {
    /// Returns the condition that the body has exactly these bytes.
    public static func body(_ expected: Data) -> RouteCondition {
        RouteCondition("a body of \(expected.count) bytes") { request in
            let actual = request.recorded.body ?? Data()
            return actual == expected ? nil : mismatch(expected, actual, type: contentType(request.recorded))
        }
    }

    /// Returns the condition that the body is exactly this text, as UTF-8.
    public static func body(_ expected: String) -> RouteCondition { body(Data(expected.utf8)) }

    /// Returns the condition that the body is JSON that is equal to this one: the same values, with the members of objects in any order
    /// and any white space (RFC 8259).
    ///
    /// - Parameter expected: The JSON, as text.
    public static func json(_ expected: String) -> RouteCondition {
        let expected = JSONValue(Data(expected.utf8))
        return RouteCondition("JSON") { request in mismatch(expected, request.recorded) }
    }

    /// Returns the condition that the body is JSON that is equal to an encoded value. Everything else is as in ``json(_:)``.
    public static func json(encoding expected: some Encodable) -> RouteCondition {
        let expected = (try? JSONEncoder().encode(expected)).flatMap { JSONValue($0) }
        return RouteCondition("JSON") { request in mismatch(expected, request.recorded) }
    }

    /// Returns the condition that the body is a URL-encoded form with these items and no others, in any order.
    public static func form(_ items: KeyValuePairs<String, String>) -> RouteCondition {
        let expected = items.map { URLItem(name: $0.key, value: $0.value) }
        return RouteCondition("form \(RouteMismatch.list(expected))") { request in
            let body = String(decoding: request.recorded.body ?? Data(), as: UTF8.self)
            return RouteMismatch.ofItems("form", expected: expected, actual: URLBytes.items(body))
        }
    }

    private static func mismatch(_ expected: JSONValue?, _ request: RecordedRequest) -> RouteMismatch? {
        let body = request.body ?? Data(), type = contentType(request)
        guard let expected else {
            return RouteMismatch("body", expected: "JSON, but the text of the route is none", actual: shown(body, type))
        }
        guard let actual = JSONValue(body) else {
            return RouteMismatch("body", expected: "JSON", actual: shown(body, type))
        }
        return expected.difference(to: actual).map { difference in
            RouteMismatch("body at \(difference.path)", expected: difference.expected, actual: difference.actual)
        }
    }

    private static func mismatch(_ expected: Data, _ actual: Data, type: String) -> RouteMismatch {
        let texts = [expected, actual].map { shown($0, type) }
        if texts[0] != texts[1] { return RouteMismatch("body", expected: texts[0], actual: texts[1]) }
        let same = zip(expected, actual).prefix { $0 == $1 }.count
        return RouteMismatch(
            "body", expected: texts[0], actual: "\(actual.count) bytes, the first difference at \(same)")
    }

    private static func contentType(_ request: RecordedRequest) -> String { request.headers[.contentType] ?? "" }

    /// Returns a body for a message: text without its secrets, or the number of bytes.
    private static func shown(_ body: Data, _ type: String) -> String {
        if body.isEmpty { return "empty" }
        guard let text = String(validating: body, as: UTF8.self) else { return "\(body.count) bytes" }
        return "\"\(RouteMismatch.shortened(BodyRedaction.shown(text, type: type)))\""
    }
}
