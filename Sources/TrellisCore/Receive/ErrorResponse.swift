/// A response with a status that is not accepted, whose body describes the error in the server's own format.
///
/// Thrown by ``DataRequest/decode(_:orError:decoder:)``. A body that is not of that format, such as a proxy's page, results in a plain
/// ``TrellisError``.
///
/// ```swift
/// do {
///     user = try await session.request(url).decode(User.self, orError: APIProblem.self)
/// } catch let error as ErrorResponse<APIProblem> where error.body.code == "locked" {
///     …
/// }
/// ```
public struct ErrorResponse<Body: Sendable>: Error, Sendable {
    /// The error that the server describes, decoded from the body.
    public let body: Body
    /// The response that the body belongs to.
    public let response: Response
    /// The error that is thrown if the body cannot be decoded: of kind ``TrellisError/Kind/unacceptableStatus``.
    public let error: TrellisError
}

extension ErrorResponse: CustomStringConvertible {
    /// The description of ``error``, followed by ``body`` if its type is `CustomStringConvertible`.
    public var description: String {
        guard Body.self is any CustomStringConvertible.Type else { return error.description }
        var error = error
        error.bodyExcerpt = nil
        return "\(error): \(body)"
    }
}
