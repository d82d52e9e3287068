import HTTPTypes

/// A request in the parts that a caller gives, put together each time it is asked for: first URL, method and fields, then the
/// modifier's changes, then the parameters.
struct ParameterizedRequest<URL: URLConvertible>: RequestConvertible {
    let url: URL
    let method: HTTPRequest.Method
    let headers: HTTPFields
    let modifier: RequestModifier?
    let encode: RequestModifier?

    func asRequest() throws -> Request {
        var request = try Request(url, method: method, headerFields: headers).asRequest()
        try modifier?(&request)
        try encode?(&request)
        return request
    }
}
