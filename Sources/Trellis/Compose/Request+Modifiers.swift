public import HTTPTypes

/// Changes a request before it is sent; what it throws is the request's failure.
public typealias RequestModifier = @Sendable (_ request: inout Request) throws -> Void

/// Copies that differ in one thing. The request itself stays as it is.
extension Request {
    /// A copy that a closure has changed.
    ///
    /// - Throws: What the closure throws.
    public func modified(by change: (inout Request) throws -> Void) rethrows -> Request {
        var request = self
        try change(&request)
        return request
    }

    /// A copy with another value for a property: `request.setting(\.httpVersion, to: .http1Only)`.
    public func setting<Value>(_ property: WritableKeyPath<Request, Value>, to value: Value) -> Request {
        var request = self
        request[keyPath: property] = value
        return request
    }

    /// A copy with another ``method``.
    public func withMethod(_ method: HTTPRequest.Method) -> Request { setting(\.method, to: method) }

    /// A copy with another ``body``, or without one.
    public func withBody(_ body: RequestBody?) -> Request { setting(\.body, to: body) }

    /// A copy with other limits on time than the session's.
    public func withTimeouts(_ timeouts: Timeouts?) -> Request { setting(\.timeouts, to: timeouts) }

    /// A copy with another choice of protocol versions than the session's.
    public func withHTTPVersion(_ version: HTTPVersionPolicy?) -> Request { setting(\.httpVersion, to: version) }

    /// A copy with another limit on the decoded response body than the session's.
    public func withMaximumBodySize(_ limit: ByteLimit?) -> Request { setting(\.maximumBodySize, to: limit) }

    /// A copy that goes before or behind others where they wait for each other.
    public func withPriority(_ priority: RequestPriority) -> Request { setting(\.priority, to: priority) }

    /// A copy whose response body is asked for compressed and is decoded, or is not.
    public func withContentDecoding(_ decodes: Bool?) -> Request { setting(\.decodesContent, to: decodes) }

    /// A copy with parameters in its query or body.
    ///
    /// - Throws: As ``ParameterEncoder/encode(_:into:)``.
    public func withParameters(
        _ parameters: some Encodable & Sendable,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default
    ) throws -> Request {
        try modified { try encoder.encode(parameters, into: &$0) }
    }

    /// A copy with a dictionary of parameters in its query or body.
    ///
    /// - Throws: As ``ParameterEncoding/encode(_:into:)``.
    public func withParameters(
        _ parameters: [String: any Sendable], encoding: some ParameterEncoding = URLEncoding.default
    ) throws -> Request {
        try modified { try encoding.encode(parameters, into: &$0) }
    }
}
