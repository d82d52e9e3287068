/// A response with a status that is not accepted, whose body is an error of the server's own making.
///
/// Thrown by `decoding(_:orError:)`. A body that is something else, such as a proxy's page, is a plain ``TrellisError``.
///
/// ```swift
/// do {
///     user = try await session.request(url).decoding(User.self, orError: APIProblem.self)
/// } catch let error as ErrorResponse<APIProblem> where error.body.code == "locked" {
///     …
/// }
/// ```
public struct ErrorResponse<Body: Sendable>: Error, Sendable {
    /// What the server says.
    public let body: Body
    /// The response it came with.
    public let response: Response
    /// The error that there would be without the body: of kind ``TrellisError/Kind/unacceptableStatus``.
    public let error: TrellisError
}

extension ErrorResponse: CustomStringConvertible {
    /// The sentence of the error, and what the server says.
    public var description: String {
        guard Body.self is any CustomStringConvertible.Type else { return error.description }
        var error = error
        error.bodyExcerpt = nil
        return "\(error): \(body)"
    }
}
