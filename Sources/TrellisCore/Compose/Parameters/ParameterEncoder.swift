import HTTPTypes

/// A type that puts parameters of any `Encodable` type into a request.
///
/// ```swift
/// session.request(url, method: .post, parameters: newUser, encoder: .json)
/// session.request(url, parameters: Search(term: "swift"))            // ?term=swift
/// session.request(url, method: .post, parameters: search, encoder: .form(destination: .query))
/// ```
///
/// To use an encoder of your own in the same way, add a static member to an extension of the protocol.
public protocol ParameterEncoder: Sendable {
    /// Puts parameters into a request. A `Content-Type` that the request has stays as it is.
    ///
    /// - Throws: Any error that prevents the encoding. The encoders of the framework throw ``TrellisError`` of kind
    ///   ``TrellisError/Kind/invalidRequest`` with the reason ``TrellisError/InvalidRequest/parameters(_:)``, whose
    ///   ``TrellisError/underlying`` is the `EncodingError` with its coding path, or the error that a type's own encoding threw.
    func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws
}

/// A type that puts a dictionary of parameters into a request. ``ParameterEncoder`` does the same for types of your own, and is
/// the better choice if the compiler can check the parameters.
///
/// The values may be any `Encodable` values, dictionaries and arrays of `any Sendable` in any nesting, and optionals of these.
///
/// ```swift
/// session.request(url, method: .post, parameters: ["name": "Ada", "tags": [1, "x"] as [any Sendable]], encoding: .json)
/// ```
public protocol ParameterEncoding: Sendable {
    /// Puts parameters into a request. A `Content-Type` that the request has stays as it is.
    ///
    /// - Throws: As in ``ParameterEncoder/encode(_:into:)``.
    func encode(_ parameters: [String: any Sendable], into request: inout Request) throws
}

extension TrellisError {
    /// Returns the error for parameters that could not be encoded.
    static func parameters(_ error: any Error, _ request: Request? = nil) -> TrellisError {
        var reason = "\(error)"
        if case EncodingError.invalidValue(_, let context) = error {
            let path = context.codingPath.map(\.formDescription).joined(separator: ".")
            reason = path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
            if let cause = context.underlyingError { reason += " (\(cause))" }
        }
        return TrellisError(
            .invalidRequest(.parameters(reason)), method: request?.method, url: request?.url, underlying: error)
    }
}

extension CodingKey {
    /// The key in an error message: the index of an element, or the name of a member.
    fileprivate var formDescription: String { intValue.map(String.init) ?? stringValue }
}

/// The place in a request where encoded parameters go.
public enum ParameterDestination: Sendable, Hashable, CaseIterable {
    /// The query of the URL for `GET`, `HEAD` and `DELETE`, the body for every other method, `QUERY` too.
    case methodDependent
    /// The query of the URL, after the items that the query already has.
    case query
    /// The body, which replaces an existing one. A `GET` request is sent with this body; `HEAD` and `TRACE` requests cannot have a
    /// body (RFC 9110, section 9.3), which is an error when the request is sent.
    case body

    /// Returns `true` if the parameters of a request with the method go into the query.
    func isQuery(for method: HTTPRequest.Method) -> Bool {
        switch self {
        case .query: true
        case .body: false
        case .methodDependent: method == .get || method == .head || method == .delete
        }
    }
}

/// A request made from the arguments of a caller. Each conversion starts with the URL, method and fields, then applies the
/// modifier's changes, and then adds the parameters.
struct ParameterizedRequest<URL: URLConvertible>: RequestConvertible {
    let url: URL
    let method: HTTPRequest.Method
    var query: KeyValuePairs<String, String> = [:]
    let headers: HTTPFields
    let modifier: RequestModifier?
    /// The closure that adds the parameters, if any.
    let encode: RequestModifier?

    func asRequest() throws -> Request {
        var request = try Request(url, method: method, query: query, headers: headers).asRequest()
        try modifier?(&request)
        try encode?(&request)
        return request
    }
}
