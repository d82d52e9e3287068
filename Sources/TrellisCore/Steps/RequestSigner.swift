import CurlEngine
public import HTTPTypes

/// A step that signs a request as it will be on the wire, for example with an HMAC or a digest of the body.
///
/// ```swift
/// struct BodyDigest: RequestSigner {
///     func sign(_ request: inout WireRequest, context: CallContext) async throws {
///         let body = try await request.body?.collect(upTo: 1 << 20) ?? Data()
///         request.headers["Content-Digest"] = "sha-256=:\(Data(SHA256.hash(data: body)).base64EncodedString()):"
///     }
/// }
///
/// configuration.steps.signers.append(BodyDigest())
/// ```
///
/// A signer runs for each request on the wire: each retry, each reply to a challenge, each redirect within the origin. It runs inside of
/// all other steps: cookies, credentials, default fields and the coded body are known, and the limits of the host have let the request
/// pass. Each run begins with the unsigned request.
///
/// After a redirect to another origin no signer runs, and the fields that they have set are not sent.
///
/// A signer runs in the task of its call, never on the session's thread, and is cancelled with the call. <doc:Signing> has examples, and
/// the cases in which the same signature is sent again.
public protocol RequestSigner: Sendable {
    /// Adds fields to a request.
    ///
    /// - Parameters:
    ///   - request: The request as it will be sent, with the changes of the signers before this one.
    ///   - context: The call, with the number of the attempt and the time that is left.
    /// - Throws: The reason why the request cannot be signed. Nothing is sent; retriers are asked about the error as about any failure, and
    ///   the caller gets it unchanged.
    func sign(_ request: inout WireRequest, context: CallContext) async throws
}

/// A request as it will be on the wire, for a ``RequestSigner``.
public struct WireRequest: Sendable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The scheme, `http` or `https` (over HTTP/2 `:scheme`).
    public let scheme: String
    /// The host and any port other than the scheme's default, as in `Host` (over HTTP/2 `:authority`): `api.example.com:8443`. A `Host`
    /// field of the request wins.
    public let authority: String
    /// The path and the query, percent-encoded as they are sent (the origin-form of RFC 9112, section 3.2.1, over HTTP/2 `:path`):
    /// `/users?page=2`. A proxy without a tunnel gets the complete URL, which ends in this.
    public var target: String { place.text }
    /// The path of the ``target``.
    public var path: String { place.path }
    /// The query of the ``target`` without its question mark, if any.
    public var query: String? { place.query }
    /// The fields as they are sent, cookies, credentials and default fields included. Fields that a signer sets here are sent, and fields
    /// that it removes are not.
    ///
    /// The fields that frame the message or belong to one connection are left out, and cannot be set: `Host`, `Content-Length`,
    /// `Transfer-Encoding`, `Connection`, `Upgrade`, `TE`, `Expect` and the like (RFC 9110, section 7.6.1).
    public var headers: HTTPFields
    /// The body as it is sent, after ``Request/compression``, if any: ``RequestBody/data`` and ``RequestBody/collect(upTo:)`` read it.
    ///
    /// A body that a signer sets here is sent instead, for example in pieces with a signature each. Its ``RequestBody/contentType`` is not
    /// used: the field in ``headers`` counts.
    public var body: RequestBody?
    private let place: RequestTarget

    /// - Parameter host: The `Host` field of the request, if it has one.
    init(_ request: Request, to url: WireURL, host: String?) {
        method = request.method
        scheme = url.scheme
        authority = host ?? url.authority
        place = RequestTarget(url, of: request.method)
        headers = request.headers
        body = request.body
    }

    /// Creates the request that is on the wire if a request is sent as it is, without the defaults of a session.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL``.
    package init(_ request: Request) throws(TrellisError) {
        let url: WireURL
        do throws(WireURL.ParseFailure) {
            url = try WireURL(parsing: request.url, unchanged: request.sendsURLUnchanged)
        } catch {
            throw .unusableURL(request.url, error, isWebSocket: false)
        }
        self.init(request, to: url, host: request.headers["Host"])
        headers["Host"] = nil
    }
}
