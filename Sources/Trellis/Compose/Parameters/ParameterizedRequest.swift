import HTTPTypes

/// A request made from the arguments of a caller. Each conversion starts with the URL, method and fields, then applies the
/// modifier's changes, and then adds the parameters.
struct ParameterizedRequest<URL: URLConvertible>: RequestConvertible {
    let url: URL
    let method: HTTPRequest.Method
    let headers: HTTPFields
    let modifier: RequestModifier?
    /// The closure that adds the parameters; `nil` if there are none.
    let encode: RequestModifier?

    func asRequest() throws -> Request {
        var request = try Request(url, method: method, headers: headers).asRequest()
        try modifier?(&request)
        try encode?(&request)
        return request
    }
}
