import HTTPTypes

/// The reason why a client's request is not passed to the origin. The connection ends after the response.
struct Refusal: Error, Hashable, Sendable {
    let status: HTTPResponse.Status
    /// The explanation, a sentence without its full stop.
    let reason: String

    init(_ status: HTTPResponse.Status, _ reason: String) { (self.status, self.reason) = (status, reason) }

    /// Returns the refusal of a malformed request.
    static func malformed(_ reason: String) -> Refusal { Refusal(.badRequest, reason) }
}
