public import HTTPTypes

/// Requests from their parts. Each method returns a ``DataRequest`` that has not started yet. An error in the parts is thrown when the
/// response is asked for.
///
/// For other verbs, make the same request as a value: `session.stream(try Request(url).withParameters(search))`.
extension Session {
    /// Returns a handle on a request without parameters.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - query: The items that are added to the query of the URL, percent-encoded and in this order.
    ///   - headers: The fields.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - modifier: Changes the request before it is sent.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(
                url: url, method: method, query: query, headers: headers, modifier: modifier, encode: nil),
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
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
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPFields = HTTPFields(),
        timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoder.encode(parameters, into: &$0) }
            }, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
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
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: HTTPFields = HTTPFields(),
        timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoding.encode(parameters, into: &$0) }
            }, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }
}

/// Requests from their parts, with fields by text or as a list: `headers: [.accept("text/html")]`, see ``HeaderLiteral``.
extension Session {
    /// Returns a handle on a request without parameters, with a list of fields. Everything else is as in
    /// ``request(_:method:query:headers:timeout:timeouts:interceptor:modifier:)-(_,_,_,HTTPFields,_,_,_,_)``.
    @_disfavoredOverload
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with parameters and a list of fields. Everything else is as in
    /// ``request(_:method:parameters:encoder:headers:timeout:timeouts:interceptor:modifier:)-(_,_,_,_,HTTPFields,_,_,_,_)``.
    @_disfavoredOverload
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HeaderLiteral,
        timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoder: encoder, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with a dictionary of parameters and a list of fields. Everything else is as in
    /// ``request(_:method:parameters:encoding:headers:timeout:timeouts:interceptor:modifier:)-(_,_,_,_,HTTPFields,_,_,_,_)``.
    @_disfavoredOverload
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: HeaderLiteral, timeout: Duration? = nil,
        timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoding: encoding, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }
}
