public import FoundationEssentials
public import HTTPTypes

/// A value that was made of a response, with the request, the response and the body.
public struct DataResponse<Value: Sendable>: Sendable {
    /// The request as it was sent, with its session's defaults.
    public let request: Request
    /// The response: final head, informational heads, trailers, metrics.
    public let response: Response
    /// The body, decoded as its `Content-Encoding` says.
    public let data: Data
    /// The value that was made of the response.
    public let value: Value
    /// The duration of the serialization, without the validation.
    public let serializationDuration: Duration

    /// Creates a response, for tests of code that reads one.
    public init(
        request: Request, response: Response, data: Data, value: Value, serializationDuration: Duration = .zero
    ) {
        self.request = request
        self.response = response
        self.data = data
        self.value = value
        self.serializationDuration = serializationDuration
    }

    /// The status of the response.
    public var status: HTTPResponse.Status { response.status }

    /// The fields of the final head.
    public var headers: HTTPFields { response.headers }

    /// The metrics of the request.
    public var metrics: Metrics { response.metrics }

    /// The redirects that were followed, in their order.
    public var redirects: [Redirect] { response.redirects }

    /// The number of times that the request was started.
    public var attemptCount: Int { metrics.attemptCount }

    /// Returns the same response with a value made of the value.
    public func map<Other: Sendable>(_ transform: (Value) -> Other) -> DataResponse<Other> {
        with(transform(value))
    }

    /// Returns the same response with a value made of the value.
    ///
    /// - Throws: The error that `transform` throws.
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
