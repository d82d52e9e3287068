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
        var why = "\(error)"
        if case EncodingError.invalidValue(_, let context) = error {
            let path = context.codingPath.map(\.formDescription).joined(separator: ".")
            why = path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
            if let cause = context.underlyingError { why += " (\(cause))" }
        }
        return TrellisError(
            .invalidRequest(.parameters(why)), method: request?.method, url: request?.url, underlying: error)
    }
}

extension CodingKey {
    /// The key in an error message: the index of an element, or the name of a member.
    fileprivate var formDescription: String { intValue.map(String.init) ?? stringValue }
}
