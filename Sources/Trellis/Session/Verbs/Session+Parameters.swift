public import HTTPTypes

/// Requests from their parts. Each is a ``DataRequest`` that has not started yet, as ``request(_:)`` makes it; what keeps it from
/// being made is thrown when its response is asked for.
///
/// For the other verbs make the same request as a value: `session.stream(try Request(url).withParameters(search))`.
extension Session {
    /// A request without parameters.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - headers: The fields.
    ///   - modifier: Changes the request before it is sent.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headers: HTTPFields = [:],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier, encode: nil),
            timeouts: timeouts, interceptor: interceptor)
    }

    /// A request with parameters in its query or its body.
    ///
    /// ```swift
    /// session.request(url, method: .post, parameters: newUser, encoder: .json)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - parameters: The parameters; `nil` for none.
    ///   - encoder: Puts them into the request; as a form by the method unless given.
    ///   - headers: The fields. A `Content-Type` among them wins over the encoder's.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPFields = [:],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoder.encode(parameters, into: &$0) }
            }, timeouts: timeouts, interceptor: interceptor)
    }

    /// A request with a dictionary of parameters in its query or its body.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - parameters: The parameters; `nil` for none.
    ///   - encoding: Puts them into the request; as a form by the method unless given.
    ///   - headers: The fields. A `Content-Type` among them wins over the encoding's.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: HTTPFields = [:],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoding.encode(parameters, into: &$0) }
            }, timeouts: timeouts, interceptor: interceptor)
    }
}

/// The same with a list of fields: `headers: [.accept("text/html"), .authorization(bearerToken: token)]`.
extension Session {
    /// As ``request(_:method:headers:modifier:)-(_,_,HTTPFields,_)``, with a list of fields.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headers: [HTTPField],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(url, method: method, headers: HTTPFields(headers), timeouts: timeouts,
            interceptor: interceptor, modifier: modifier)
    }

    /// As ``request(_:method:parameters:encoder:headers:modifier:)-(_,_,_,_,HTTPFields,_)``, with a list of fields.
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: [HTTPField],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoder: encoder, headers: HTTPFields(headers),
            timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }

    /// As ``request(_:method:parameters:encoding:headers:modifier:)-(_,_,_,_,HTTPFields,_)``, with a list of fields.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: [HTTPField],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoding: encoding, headers: HTTPFields(headers),
            timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }
}
