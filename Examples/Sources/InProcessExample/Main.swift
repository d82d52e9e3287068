import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTransport
import NIOCore
import ServiceFront
import Trellis
import TrellisService
import TrellisTesting

/// The `in-process-example` program: the service of `ServiceFront` and the one behind it, both without a socket. Prints the responses of
/// the first, a line for each: the request, the status and the body.
@main
enum Main {
    static func main() async throws {
        let service = SessionService(
            Session(configuration: upstream, transport: MockTransport.calling(users.buildResponder())))
        let client = Session(transport: MockTransport.calling(Front.router(service).buildResponder()))
        for path in ["/users/7", "/users/8", "/users/x", "/health", "/nowhere"] { try await show(path, client) }
        await service.session.shutdown()
        for path in ["/users/7", "/health"] { try await show(path, client) }
        try await echo()
    }

    private static var upstream: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.baseURL = "http://users.example/"
        return configuration
    }

    /// The router of the service behind, which knows one user.
    private static var users: Hummingbird.Router<BasicRequestContext> {
        let router = Hummingbird.Router()
        router.get("users/:id") { _, context in
            guard context.parameters.get("id") == "7" else { throw HTTPError(.notFound) }
            return Front.User(name: "Ada")
        }
        return router
    }

    private static func show(_ path: String, _ client: Session) async throws {
        let (data, response) = try await client.data("http://front.example\(path)")
        print("GET", path, response.status.code, String(decoding: data, as: UTF8.self).split(separator: "\n").joined())
    }

    /// Sends a body and a query to a route that streams them back.
    private static func echo() async throws {
        let router = Hummingbird.Router()
        router.post("echo") { request, _ in
            Hummingbird.Response(
                status: .ok, headers: [.contentType: "text/plain"],
                body: Hummingbird.ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "\(request.uri.query ?? "") "))
                    for try await part in request.body { try await writer.write(part) }
                    try await writer.finish(nil)
                })
        }
        let session = Session(transport: MockTransport.calling(router.buildResponder()))
        let body = Data("a body".utf8)
        let (data, response) = try await session.upload(body, to: "http://front.example/echo?a=b%20c")
        print("POST", "/echo", response.status.code, String(decoding: data, as: UTF8.self))
    }
}
