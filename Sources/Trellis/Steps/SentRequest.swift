/// The request that a response is the response to: as an exchange has sent it, or as it would have been sent if its response had not been
/// stored. Validators, retriers, authentication and callers see the same one.
protocol SentRequest: AnyObject, Sendable {
    /// The request with the session's default fields.
    var sentRequest: Request { get }
}

extension PreparedRequest: SentRequest {
    var sentRequest: Request { request }
}
