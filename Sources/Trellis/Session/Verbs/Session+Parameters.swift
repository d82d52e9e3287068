public import HTTPTypes

/// Requests from their parts. Each method returns a ``DataRequest`` that has not started yet, like
/// ``request(_:headers:timeouts:interceptor:)``; an error in its parts is thrown when its response is asked for.
///
/// For other verbs, make the same request as a value: `session.stream(try Request(url).withParameters(search))`.
extension Session {
    /// Returns a handle on a request without parameters.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - headers: The fields.
    ///   - modifier: Changes the request before it is sent.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headers: HTTPFields = HTTPFields(),
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier, encode: nil),
            timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a request with parameters in its query or its body.
    ///
    /// ```swift
    /// session.request(url, method: .post, parameters: newUser, encoder: .json)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - parameters: The parameters; `nil` if there are none.
    ///   - encoder: The encoder that puts the parameters into the request; unless given, as a form, by the method in the query or
    ///     the body.
    ///   - headers: The fields. A `Content-Type` among them takes precedence over the encoder's.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPFields = HTTPFields(),
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoder.encode(parameters, into: &$0) }
            }, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a request with a dictionary of parameters in its query or its body.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - parameters: The parameters; `nil` if there are none.
    ///   - encoding: The encoding that puts the parameters into the request; unless given, as a form, by the method in the query
    ///     or the body.
    ///   - headers: The fields. A `Content-Type` among them takes precedence over the encoding's.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: HTTPFields = HTTPFields(),
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoding.encode(parameters, into: &$0) }
            }, timeouts: timeouts, interceptor: interceptor)
    }
}

/// Requests from their parts, with a list of fields: `headers: [.accept("text/html"), .authorization(bearerToken: token)]`.
extension Session {
    /// Returns a handle on a request without parameters, with a list of fields. Everything else is as in
    /// ``request(_:method:headers:timeouts:interceptor:modifier:)-(_,_,HTTPFields,_,_,_)``.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headers: [HTTPField],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, headers: HTTPFields(headers), timeouts: timeouts,
            interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with parameters and a list of fields. Everything else is as in
    /// ``request(_:method:parameters:encoder:headers:timeouts:interceptor:modifier:)-(_,_,_,_,HTTPFields,_,_,_)``.
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: [HTTPField],
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil, modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoder: encoder, headers: HTTPFields(headers),
            timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with a dictionary of parameters and a list of fields. Everything else is as in
    /// ``request(_:method:parameters:encoding:headers:timeouts:interceptor:modifier:)-(_,_,_,_,HTTPFields,_,_,_)``.
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
