import HTTPTypes

/// A request with the fields, time limits and interceptor that a verb was given.
struct AdjustedRequest<Base: RequestConvertible>: RequestConvertible {
    let base: Base
    let headers: HTTPFields
    let timeouts: Timeouts?
    let interceptor: (any RequestInterceptor)?

    func asRequest() throws -> Request {
        let request = try base.asRequest()
        if headers.isEmpty, timeouts == nil, interceptor == nil { return request }
        return adjusted(request)
    }

    @inline(never)
    private func adjusted(_ request: Request) -> Request {
        var request = request
        if let interceptor { request = request.withInterceptor(interceptor) }
        if let timeouts { request.timeouts = request.timeouts.map(timeouts.completed(by:)) ?? timeouts }
        for field in headers { request.headers[values: field.name] = [] }
        for field in headers { request.headers.append(field) }
        return request
    }
}

extension RequestConvertible {
    /// Returns the request with the fields, time limits and interceptor that a verb was given.
    func adjusted(
        _ headers: HTTPFields, _ timeouts: Timeouts?, _ interceptor: (any RequestInterceptor)?
    ) -> AdjustedRequest<Self> {
        AdjustedRequest(base: self, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }
}
