import Foundation
public import FoundationNetworking
import HTTPTypes
public import TrellisCore

extension URLRequest {
    /// Creates the same request for `URLSession`: method, URL, header fields and body.
    ///
    /// Fields that repeat a name become one field, their values joined with commas (RFC 9110, section 5.3); `Cookie` fields are joined
    /// with semicolons. The body's content type becomes a field, unless the request has one. `Content-Length` and
    /// `Transfer-Encoding` are left to `URLSession`.
    ///
    /// A body in memory, or a form with all parts in memory, becomes `httpBody`; a file becomes an `httpBodyStream`.
    ///
    /// ``/Trellis/Timeouts/idle`` becomes `timeoutInterval`, in whole seconds, as `URLSession` on Linux counts them; seven days if there
    /// is no limit. A `URLRequest` has no place for the other limits on time, the version of HTTP, the limit on the response's
    /// body and the compression of the body: the body is sent as it is.
    ///
    /// - Throws: The error that the conversion of the request threw; ``/Trellis/TrellisError`` of kind
    ///   ``/Trellis/TrellisError/Kind/invalidURL`` for a URL that is not absolute, of kind
    ///   ``/Trellis/TrellisError/Kind/file`` for a file that cannot be opened, and of kind
    ///   ``/Trellis/TrellisError/Kind/invalidRequest`` for a body that is made while it is sent: a sequence of chunks, or a form with
    ///   files or such sequences.
    public init(_ request: Request) throws {
        let request = try request.asRequest()
        guard let url = URL(string: request.url), url.host?.isEmpty == false,
            url.scheme?.isHTTPScheme == true
        else {
            throw TrellisError(
                .invalidRequest(.url("it is not an absolute http or https URL")), method: request.method,
                url: request.url)
        }
        if let name = request.headers.invalidName { throw TrellisError.invalidFieldName(name, request) }
        self.init(url: url)
        httpMethod = request.method.rawValue
        if let timeouts = request.timeouts { timeoutInterval = timeouts.idle?.wholeSeconds ?? 7 * 86_400 }
        allHTTPHeaderFields = request.headers.joinedValues { $0 != .contentLength && $0 != .transferEncoding }
        if let type = request.body?.contentType, request.headers[.contentType] == nil {
            setValue(type, forHTTPHeaderField: "Content-Type")
        }
        try setBody(request)
    }

    private mutating func setBody(_ request: Request) throws(TrellisError) {
        var source = request.body?.source
        if case .multipart(let form) = source, let bytes = try form.pieces().joined() { source = .data(bytes) }
        switch source {
        case nil: break
        case .data(let bytes): httpBody = bytes
        case .file(let path):
            guard FileManager.default.isReadableFile(atPath: path), let stream = InputStream(fileAtPath: path) else {
                throw TrellisError(
                    .bodyFailed(.file(path: path, reason: "it cannot be opened")), method: request.method,
                    url: request.url
                )
            }
            httpBodyStream = stream
        case .stream, .multipart:
            throw TrellisError(
                .invalidRequest(.body("a URLRequest cannot hold a body that is made while it is sent")),
                method: request.method, url: request.url)
        }
    }
}

extension Duration {
    /// The duration in whole seconds, rounded up and at least 1: a shorter interval would count as 0.
    fileprivate var wholeSeconds: TimeInterval {
        let (seconds, attoseconds) = components
        return TimeInterval(max(1, seconds + (attoseconds > 0 ? 1 : 0)))
    }
}
