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
    /// server needs that. The body is sent chunked, even if its length is known, and over HTTP/1.1, because libcurl sends no trailers over
    /// HTTP/2 and HTTP/3. With ``HTTPVersionPolicy/http2PriorKnowledge`` or ``HTTPVersionPolicy/http3Only``, and on a libcurl before 8.7,
    /// the request ends with an error of kind ``TrellisError/Kind/unsupported``. A request without a body sends no trailers. An error of
    /// the closure ends the request as an error of a body's source does. A field that must not be a trailer, such as `Content-Length` or
    /// `Authorization` (RFC 9110, section 6.5.1), is an error of kind ``TrellisError/Kind/invalidRequest``. Intermediaries may drop
    /// trailers.
    public var trailers: RequestTrailers? {
        get { trailerSource?.fields }
        set { changeExtras { $0.trailers = newValue.map(TrailerSource.init) } }
    }

    var trailerSource: TrailerSource? { extras?.extras.trailers }

    /// Returns a copy with fields after the body: see ``trailers``.
    public func withTrailers(_ trailers: @escaping RequestTrailers) -> Request { setting(\.trailers, to: trailers) }
}
