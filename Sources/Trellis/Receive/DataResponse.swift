public import FoundationEssentials
public import HTTPTypes

/// A value that was made of an answer, with all that belongs to it.
public struct DataResponse<Value: Sendable>: Sendable {
    /// The request as it was sent, with its session's defaults.
    public let request: Request
    /// The response: final head, informational heads, trailers, metrics.
    public let response: Response
    /// The body, decoded as its `Content-Encoding` says.
    public let data: Data
    /// What was made of it.
    public let value: Value
    /// How long the making took, validation not included.
    public let serializationDuration: Duration

    /// An answer, for tests of what reads it.
    public init(
        request: Request, response: Response, data: Data, value: Value, serializationDuration: Duration = .zero
    ) {
        self.request = request
        self.response = response
        self.data = data
        self.value = value
        self.serializationDuration = serializationDuration
    }

    /// The status.
    public var status: HTTPResponse.Status { response.status }

    /// The fields of the final head.
    public var headerFields: HTTPFields { response.headerFields }

    /// What the request took.
    public var metrics: Metrics { response.metrics }

    /// The redirects that were followed, in their order.
    public var redirects: [Redirect] { response.redirects }

    /// How often the request was started.
    public var attempts: Int { metrics.attempts }

    /// The same answer with a value made of the value.
    public func map<Other: Sendable>(_ transform: (Value) -> Other) -> DataResponse<Other> {
        with(transform(value))
    }

    /// The same answer with a value made of the value.
    ///
    /// - Throws: What `transform` throws.
    public func tryMap<Other: Sendable, Failure: Error>(
        _ transform: (Value) throws(Failure) -> Other
    ) throws(Failure) -> DataResponse<Other> {
        with(try transform(value))
    }

    private func with<Other: Sendable>(_ value: Other) -> DataResponse<Other> {
        DataResponse<Other>(
            request: request, response: response, data: data, value: value,
            serializationDuration: serializationDuration)
    }
}
