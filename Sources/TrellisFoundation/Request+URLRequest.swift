import Foundation
public import FoundationNetworking
import HTTPTypes
public import TrellisCore

extension URLRequest: RequestConvertible {
    /// Returns the same request for a ``/Trellis/Session``: `Request(self)`, which documents the treatment of each property.
    ///
    /// - Throws: As in `Request.init(_:refining:)`.
    public func asRequest() throws -> Request { try Request(self) }
}

extension Request {
    /// Creates a request from a `URLRequest`: its method, URL, header fields and the bytes of its body.
    ///
    /// ```swift
    /// var request = URLRequest(url: url)
    /// request.httpMethod = "PUT"
    /// request.httpBody = Data("on".utf8)
    /// let (data, response) = try await session.data(request)
    /// ```
    ///
    /// `timeoutInterval` applies if it is not 60 seconds, the interval of a request that does not set one: it limits the wait for
    /// a connection, the wait for the response's head, and the time without a byte. An interval that is infinite, or longer than
    /// a year, removes these limits. An interval that is not positive is ignored.
    ///
    /// An empty body becomes no body. `URLSession` calls the body of a `POST` without a `Content-Type` a form; here the body is
    /// sent without a type. Cookies, caching, service types and the like belong to `URLSession` and are left out.
    ///
    /// - Parameters:
    ///   - urlRequest: The request.
    ///   - timeouts: The limits on time, in which `timeoutInterval` replaces those that it covers. ``/Trellis/Timeouts/total`` is raised
    ///     to the interval if it was shorter; if no total is set, the default for a response in memory is raised, and streams,
    ///     downloads and uploads still have no total.
    /// - Throws: ``/Trellis/TrellisError`` of kind ``/Trellis/TrellisError/Kind/invalidURL`` without a URL; of kind
    ///   ``/Trellis/TrellisError/Kind/invalidRequest`` for a method or a field that cannot be sent, and for an `httpBodyStream`: a stream
    ///   that is read once, blocks its thread and belongs to no task can be neither sent again nor cancelled. Give the bytes, the
    ///   file's path or an asynchronous sequence as ``/Trellis/Request/body``.
    public init(_ urlRequest: URLRequest, refining timeouts: Timeouts = Timeouts()) throws {
        guard let url = urlRequest.url else { throw TrellisError(.invalidRequest(.url("the URLRequest has no URL"))) }
        let name = urlRequest.httpMethod ?? "GET"
        guard let method = HTTPRequest.Method(name) else {
            throw TrellisError(.invalidRequest(.method(name)), url: url.absoluteString)
        }
        func refusal(_ reason: TrellisError.InvalidRequest) -> TrellisError {
            TrellisError(.invalidRequest(reason), method: method, url: url.absoluteString)
        }
        guard urlRequest.httpBodyStream == nil else {
            throw refusal(.body("it is an InputStream; give its bytes, a file or an asynchronous sequence instead"))
        }
        self.init(url.absoluteString, method: method)
        // The order of a dictionary differs in each run.
        for (name, value) in (urlRequest.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            // A line end in a value is an error instead of being replaced, so that the caller learns of it.
            guard let name = HTTPField.Name(name), !value.utf8.contains(where: { [0, 10, 13].contains($0) }) else {
                throw refusal(.headerField(name))
            }
            headers.append(HTTPField(name: name, value: value))
        }
        if let bytes = urlRequest.httpBody, !bytes.isEmpty { body = .data(bytes) }
        self.timeouts = timeouts.refined(by: urlRequest.timeoutInterval)
    }
}

extension Timeouts {
    /// Returns these limits with the `timeoutInterval` of a `URLRequest`; `nil` if neither sets a limit.
    fileprivate func refined(by interval: TimeInterval) -> Timeouts? {
        guard interval > 0, interval != URLRequest.unchangedTimeoutInterval else {
            return self == Timeouts() ? nil : self
        }
        let limit: Duration? = interval <= 366 * 86_400 ? .seconds(interval) : nil
        var timeouts = withTotal(atLeast: limit)
        timeouts.connect = limit
        timeouts.responseHead = limit
        timeouts.idle = limit
        return timeouts
    }
}

extension URLRequest {
    /// The interval of a request that does not set one, in seconds.
    static var unchangedTimeoutInterval: TimeInterval { 60 }
}
