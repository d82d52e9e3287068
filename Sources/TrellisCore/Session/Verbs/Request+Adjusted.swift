import HTTPTypes

extension Request {
    /// Returns the request with the query, fields, time limits and interceptor that were passed to a verb: items are added to the query,
    /// fields replace the request's fields of the same name, time limits the limits of the same name, and the interceptor runs after the
    /// session's and the request's own.
    ///
    /// - Parameter total: The limit in total; it replaces the one of `timeouts`.
    @inline(__always)
    package func adjusted(
        query: KeyValuePairs<String, String>, headers: HTTPFields, timeout total: Duration?, timeouts: Timeouts?,
        interceptor: (any RequestInterceptor)?
    ) -> Request {
        if query.isEmpty, headers.isEmpty, total == nil, timeouts == nil, interceptor == nil { return self }
        return changed(query: query, headers: headers, timeout: total, timeouts: timeouts, interceptor: interceptor)
    }

    @inline(never)
    private func changed(
        query: KeyValuePairs<String, String>, headers: HTTPFields, timeout total: Duration?, timeouts: Timeouts?,
        interceptor: (any RequestInterceptor)?
    ) -> Request {
        var request = interceptor.map(withInterceptor) ?? self
        if !query.isEmpty { request = request.addingQuery(query) }
        if let timeouts { request.timeouts = request.timeouts.map(timeouts.completed(by:)) ?? timeouts }
        if let total {
            var timeouts = request.timeouts ?? Timeouts()
            timeouts.total = total
            request.timeouts = timeouts
        }
        for field in headers { request.headers[values: field.name] = [] }
        for field in headers { request.headers.append(field) }
        return request
    }
}
