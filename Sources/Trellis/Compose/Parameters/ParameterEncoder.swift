/// Puts parameters of any `Encodable` type into a request.
///
/// ```swift
/// session.request(url, method: .post, parameters: newUser, encoder: .json)
/// session.request(url, parameters: Search(term: "swift"))            // ?term=swift
/// session.request(url, method: .post, parameters: search, encoder: .form(destination: .query))
/// ```
///
/// Give an encoder of your own a static member in an extension of the protocol, and it reads like these.
public protocol ParameterEncoder: Sendable {
    /// Puts parameters into a request. A `Content-Type` that the request has stays as it is.
    ///
    /// - Throws: Whatever keeps them from being encoded. The encoders of the framework throw ``TrellisError`` of kind
    ///   ``TrellisError/Kind/invalidRequest`` with the reason ``TrellisError/InvalidRequest/parameters(_:)``, whose
    ///   ``TrellisError/underlying`` is the `EncodingError` with its coding path, or what a type's own encoding threw.
    func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws
}

/// Puts a dictionary of parameters into a request. ``ParameterEncoder`` does the same for types of your own, and is the better
/// choice where the compiler can check them.
///
/// The values may be anything `Encodable`, dictionaries and arrays of `any Sendable` in any nesting, and optionals of these.
///
/// ```swift
/// session.request(url, method: .post, parameters: ["name": "Ada", "tags": [1, "x"] as [any Sendable]], encoding: .json)
/// ```
public protocol ParameterEncoding: Sendable {
    /// Puts parameters into a request. A `Content-Type` that the request has stays as it is.
    ///
    /// - Throws: As ``ParameterEncoder/encode(_:into:)``.
    func encode(_ parameters: [String: any Sendable], into request: inout Request) throws
}

extension TrellisError {
    /// The parameters of a request could not be encoded.
    static func parameters(_ error: any Error, _ request: Request) -> TrellisError {
        var why = "\(error)"
        if case EncodingError.invalidValue(_, let context) = error {
            let path = context.codingPath.map(\.formDescription).joined(separator: ".")
            why = path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
            if let cause = context.underlyingError { why += " (\(cause))" }
        }
        return TrellisError(
            .invalidRequest(.parameters(why)), method: request.method, url: request.url, underlying: error)
    }
}

extension CodingKey {
    fileprivate var formDescription: String { intValue.map(String.init) ?? stringValue }
}
