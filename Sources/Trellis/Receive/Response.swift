public import HTTPTypes

/// The answer to a request. Any status is an answer, not an error.
public struct Response: Sendable {
    /// The final head.
    public var responseHead: ResponseHead
    /// The URL that was requested, as it was sent.
    public var url: String
    /// The heads with a status of 1xx that came first, such as 103 Early Hints (RFC 8297).
    public var informational: [ResponseHead]
    /// The fields that came after the body. Empty until the body has ended.
    public var trailerFields: HTTPFields
    /// What it took, up to now: of a stream's head, up to the head.
    public var metrics: Metrics

    /// An answer, for transports and tests.
    public init(
        responseHead: ResponseHead, url: String, informational: [ResponseHead] = [], trailerFields: HTTPFields = [:],
        metrics: Metrics = Metrics()
    ) {
        self.responseHead = responseHead
        self.url = url
        self.informational = informational
        self.trailerFields = trailerFields
        self.metrics = metrics
    }

    /// The status.
    public var status: HTTPResponse.Status { responseHead.status }

    /// The version of HTTP that carried it.
    public var version: HTTPVersion { responseHead.version }

    /// The fields in the order of their arrival, repeated names repeated.
    public var headerFields: HTTPFields { responseHead.headerFields }

    /// Status and fields as the ecosystem's type.
    public var head: HTTPResponse { HTTPResponse(status: status, headerFields: headerFields) }
}
