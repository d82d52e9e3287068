/// The request that a response answers: as an exchange has sent it, or as it would have been sent if its response had not been stored.
/// Validators, retriers, authentication and callers see the same one.
package protocol SentRequest: AnyObject, Sendable {
    /// The request with the session's default fields.
    var sentRequest: Request { get }
}

/// The request of a response that no call has received: a step or a test has made the response.
final class MadeRequest: SentRequest {
    let sentRequest: Request

    init(_ request: Request) { sentRequest = request }
}
