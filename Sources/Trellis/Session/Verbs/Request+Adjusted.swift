import HTTPTypes

extension Request {
    /// Returns the request with the fields, time limits and interceptor that were passed to a verb: fields replace the request's
    /// fields of the same name, time limits the limits of the same name, and the interceptor runs after the session's and the
    /// request's own.
    @inline(__always)
    func adjusted(
        _ headers: HTTPFields, _ timeouts: Timeouts?, _ interceptor: (any RequestInterceptor)?
    ) -> Request {
        if headers.isEmpty, timeouts == nil, interceptor == nil { return self }
        return changed(headers, timeouts, interceptor)
    }

    @inline(never)
    private func changed(
        _ headers: HTTPFields, _ timeouts: Timeouts?, _ interceptor: (any RequestInterceptor)?
    ) -> Request {
        var request = interceptor.map(withInterceptor) ?? self
        if let timeouts { request.timeouts = request.timeouts.map(timeouts.completed(by:)) ?? timeouts }
        for field in headers { request.headers[values: field.name] = [] }
        for field in headers { request.headers.append(field) }
        return request
    }
}
