public import HTTPTypes

/// The answer to a request. Any status is an answer, not an error.
public struct Response: Sendable {
    private final class Storage: Sendable {
        let responseHead: ResponseHead
        let url: String
        let informational: [ResponseHead]
        let trailerFields: HTTPFields
        let metrics: Metrics
        let redirects: [Redirect]
        let isBodyCut: Bool

        init(
            _ responseHead: ResponseHead, _ url: String, _ informational: [ResponseHead], _ trailerFields: HTTPFields,
            _ metrics: Metrics, _ redirects: [Redirect], isBodyCut: Bool
        ) {
            self.isBodyCut = isBodyCut
            self.responseHead = responseHead
            self.url = url
            self.informational = informational
            self.trailerFields = trailerFields
            self.metrics = metrics
            self.redirects = redirects
        }
    }

    // One reference: a response is handed on often, and has many parts.
    private let storage: Storage

    /// An answer, for transports and tests.
    public init(
        responseHead: ResponseHead, url: String, informational: [ResponseHead] = [], trailerFields: HTTPFields = [:],
        metrics: Metrics = Metrics(), redirects: [Redirect] = []
    ) {
        self.init(
            responseHead: responseHead, url: url, informational: informational, trailerFields: trailerFields,
            metrics: metrics, redirects: redirects, isBodyCut: false)
    }

    init(
        responseHead: ResponseHead, url: String, informational: [ResponseHead], trailerFields: HTTPFields,
        metrics: Metrics, redirects: [Redirect], isBodyCut: Bool
    ) {
        storage = Storage(
            responseHead, url, informational, trailerFields, metrics, redirects, isBodyCut: isBodyCut)
    }

    /// Of the body only the beginning was read, because every reader refused the head.
    var isBodyCut: Bool { storage.isBodyCut }

    /// The final head.
    public var responseHead: ResponseHead { storage.responseHead }

    /// The URL that was requested, as it was sent.
    public var url: String { storage.url }

    /// The heads with a status of 1xx that came first, such as 103 Early Hints (RFC 8297).
    public var informational: [ResponseHead] { storage.informational }

    /// The fields that came after the body. Empty until the body has ended.
    public var trailerFields: HTTPFields { storage.trailerFields }

    /// What it took, up to now: of a stream's head, up to the head.
    public var metrics: Metrics { storage.metrics }

    /// The redirects that led here, in their order.
    public var redirects: [Redirect] { storage.redirects }

    /// The status.
    public var status: HTTPResponse.Status { responseHead.status }

    /// The version of HTTP that carried it.
    public var version: HTTPVersion { responseHead.version }

    /// The fields in the order of their arrival, repeated names repeated.
    public var headerFields: HTTPFields { responseHead.headerFields }

    /// Status and fields as the ecosystem's type.
    public var head: HTTPResponse { HTTPResponse(status: status, headerFields: headerFields) }
}

extension Response: CustomStringConvertible, CustomDebugStringConvertible {
    /// Status, URL without the secrets in it, and version.
    public var description: String { "\(status.code) \(URLRedaction.redact(url)) (HTTP/\(version))" }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
