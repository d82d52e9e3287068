public import HTTPTypes

/// A closure that returns the fields after a request's body.
public typealias RequestTrailers = @Sendable () async throws -> HTTPFields

/// The immutable reference to the trailers of a request, which shows whether a copy of the request has the same ones.
final class TrailerSource: Sendable {
    let fields: RequestTrailers

    init(_ fields: @escaping RequestTrailers) { self.fields = fields }
}

extension Request {
    /// The fields after the body (RFC 9110, section 6.5), such as a checksum of what was sent; `nil`, the default, if there are none.
    ///
    /// The closure is called for each sending, after the last chunk of the body was made. Announce the names in a `Trailer` field if the
    /// server needs that. The body is sent without a `Content-Length`, even if its length is known, and is chunked over HTTP/1.1. A request
    /// without a body sends no trailers.
    ///
    /// Trailers are sent over HTTP/1.1 and HTTP/2. Their request does not use HTTP/3, even if that is preferred, and with
    /// ``HTTPVersionPolicy/http3Only`` it ends with an error of kind ``TrellisError/Kind/unsupported``. An error of the closure ends the
    /// request as an error of a body's source does. A field that must not be a trailer, such as `Content-Length` or `Authorization`
    /// (RFC 9110, section 6.5.1), is an error of kind ``TrellisError/Kind/invalidRequest``. Intermediaries may drop trailers.
    public var trailers: RequestTrailers? {
        get { trailerSource?.fields }
        set { changeExtras { $0.trailers = newValue.map(TrailerSource.init) } }
    }

    var trailerSource: TrailerSource? { extras?.extras.trailers }

    /// Returns a copy with fields after the body: see ``trailers``.
    public func withTrailers(_ trailers: @escaping RequestTrailers) -> Request { setting(\.trailers, to: trailers) }
}
