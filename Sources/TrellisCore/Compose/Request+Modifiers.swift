public import HTTPTypes

/// A closure that changes a request before it is sent. An error that the closure throws becomes the failure of the request.
public typealias RequestModifier = @Sendable (_ request: inout Request) throws -> Void

/// Copies of a request that differ in one property. The request itself stays unchanged.
extension Request {
    /// Returns a copy that a closure has changed.
    ///
    /// - Throws: The error that the closure throws.
    public func modified(by change: (inout Request) throws -> Void) rethrows -> Request {
        var request = self
        try change(&request)
        return request
    }

    /// Returns a copy with another value for a property: `request.setting(\.httpVersion, to: .http1Only)`.
    public func setting<Value>(_ property: WritableKeyPath<Request, Value>, to value: Value) -> Request {
        var request = self
        request[keyPath: property] = value
        return request
    }

    /// Returns a copy with another ``method``.
    public func withMethod(_ method: HTTPRequest.Method) -> Request { setting(\.method, to: method) }

    /// Returns a copy with another ``body``; `nil` if the copy has none.
    public func withBody(_ body: RequestBody?) -> Request { setting(\.body, to: body) }

    /// Returns a copy with other ``timeouts``; `nil` if the session's apply.
    public func withTimeouts(_ timeouts: Timeouts?) -> Request { setting(\.timeouts, to: timeouts) }

    /// Returns a copy with another ``httpVersion``; `nil` if the session's applies.
    public func withHTTPVersion(_ version: HTTPVersionPolicy?) -> Request { setting(\.httpVersion, to: version) }

    /// Returns a copy with another ``maximumBodySize``, the limit on the decoded response body; `nil` if the session's applies.
    public func withMaximumBodySize(_ limit: ByteLimit?) -> Request { setting(\.maximumBodySize, to: limit) }

    /// Returns a copy with another ``priority``, which decides the order among requests that wait for each other.
    ///
    /// - Parameters:
    ///   - priority: The priority.
    ///   - tellsServer: Whether the server is told too, by the field `Priority` (RFC 9218): `u=1` for ``RequestPriority/high``, `u=5` for
    ///     ``RequestPriority/low``, and no field for ``RequestPriority/normal``. A server that knows the field sends the more urgent one of
    ///     two responses first that share a connection over HTTP/2 or HTTP/3.
    public func withPriority(_ priority: RequestPriority, tellsServer: Bool = false) -> Request {
        var request = setting(\.priority, to: priority)
        if tellsServer { request.headers[.priority] = priority.urgency }
        return request
    }

    /// Returns a copy with another ``decodesContent``: the choice whether compressed response bodies are requested and decoded.
    public func withContentDecoding(_ decodes: Bool?) -> Request { setting(\.decodesContent, to: decodes) }

    /// Returns a copy with parameters in its query or body.
    ///
    /// - Throws: As in ``ParameterEncoder/encode(_:into:)``.
    public func withParameters(
        _ parameters: some Encodable & Sendable,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default
    ) throws -> Request {
        try modified { try encoder.encode(parameters, into: &$0) }
    }

    /// Returns a copy with a dictionary of parameters in its query or body.
    ///
    /// - Throws: As in ``ParameterEncoding/encode(_:into:)``.
    public func withParameters(
        _ parameters: [String: any Sendable], encoding: some ParameterEncoding = URLEncoding.default
    ) throws -> Request {
        try modified { try encoding.encode(parameters, into: &$0) }
    }
}
