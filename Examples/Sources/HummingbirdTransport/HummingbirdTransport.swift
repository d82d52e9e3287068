import HTTPTypes
public import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOEmbedded
import NIOFoundationEssentialsCompat
import Trellis
public import TrellisTesting

extension MockTransport {
    /// Returns a transport that calls a responder of Hummingbird, such as a router, in the same process and without a socket.
    ///
    /// ```swift
    /// let session = Session(transport: MockTransport.calling(router.buildResponder()))
    /// let user = try await session.decode(User.self, from: "http://localhost/users/7")
    /// ```
    ///
    /// The responder gets the complete body of a request at once. The bytes of the response are passed on as they are written, at the pace
    /// of their reader; trailers are dropped. An error that the responder throws is a response of status 500, as in Hummingbird's server.
    ///
    /// - Parameter logger: The logger of the contexts; one that writes nothing by default.
    public static func calling<Responder: HTTPResponder>(
        _ responder: Responder, logger: Logger = Logger(label: "in-process") { _ in SwiftLogNoOpLogHandler() }
    ) -> MockTransport
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        MockTransport { request in
            var logger = logger
            logger[metadataKey: "hb.request.id"] = .stringConvertible(RequestID())
            let context = Responder.Context(source: .init(channel: NIOAsyncTestingChannel(), logger: logger))
            let response: Hummingbird.Response
            do {
                response = try await responder.respond(to: Hummingbird.Request(request), context: context)
            } catch {
                response = Hummingbird.Response(status: .internalServerError)
            }
            return MockResponse(status: response.status.code, headers: response.headers) { writer in
                try await response.body.write(BodyWriter(writer: writer))
            }
        }
    }
}

extension Hummingbird.Request {
    /// Creates the request that a server would have received.
    fileprivate init(_ request: TransportRequest) {
        let body = request.body?.data
        var headers = request.headers
        if let body { headers[.contentLength] = "\(body.count)" }
        let target = request.path + (request.query.map { "?" + $0 } ?? "")
        let head = HTTPRequest(
            method: request.method, scheme: nil, authority: URL(string: request.url).flatMap(Self.authority),
            path: target, headerFields: headers)
        self.init(head: head, body: Hummingbird.RequestBody(buffer: ByteBuffer(data: body ?? Data())))
    }

    /// Returns the host of a URL, with the port if the URL has one.
    private static func authority(of url: URL) -> String? {
        url.host(percentEncoded: true).map { host in url.port.map { "\(host):\($0)" } ?? host }
    }
}

/// A writer of the bytes of a response to the session.
private struct BodyWriter: Hummingbird.ResponseBodyWriter {
    let writer: MockResponse.Writer

    func write(_ buffer: ByteBuffer) async throws { try await writer.write(Data(buffer: buffer)) }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
