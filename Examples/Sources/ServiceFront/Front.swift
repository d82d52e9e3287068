import HTTPTypes
public import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Trellis
public import TrellisService

/// The routes of a small service that gets its data from another one, through a session.
public enum Front {
    /// A user, as the inner service has them.
    public struct User: ResponseCodable, Sendable {
        /// The name.
        public var name: String

        /// Creates a user.
        public init(name: String) { self.name = name }
    }

    /// Returns a router with the routes `users/:id`, and `health`, the state of the session: 200 while it accepts requests, 503 after the
    /// announcement of the shutdown.
    ///
    /// - Parameters:
    ///   - announcement: The announcement, from whose beginning on responses have the field `Connection: close`.
    ///   - onRequest: A function that is called with each request for a user that the service has accepted.
    public static func router(
        _ service: SessionService, announcement: ShutdownAnnouncement = ShutdownAnnouncement(),
        onRequest: @escaping @Sendable () -> Void = {}
    ) -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: LastResponses(announcement: announcement))
        router.add(middleware: UpstreamErrors())
        router.get("users/:id") { _, context in
            onRequest()
            let id = try context.parameters.require("id", as: Int.self)
            return try await service.session.decode(User.self, from: "users/\(id)")
        }
        router.get("health") { _, _ in
            let (health, isEnding) = (service.health, announcement.hasBegun)
            return Hummingbird.Response(
                status: health.acceptsRequests && !isEnding ? .ok : .serviceUnavailable,
                body: .init(byteBuffer: ByteBuffer(string: isEnding ? "shutting down\n" : "\(health)\n")))
        }
        return router
    }
}

/// Responses that are the last ones of their connections from the announcement of the shutdown on: the client opens a new connection, and
/// the load balancer connects it with another process. A connection that the client does not close is closed with the server.
struct LastResponses<Context: RequestContext>: RouterMiddleware {
    let announcement: ShutdownAnnouncement

    func handle(
        _ request: Hummingbird.Request, context: Context,
        next: @concurrent (Hummingbird.Request, Context) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        var response: Hummingbird.Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        if announcement.hasBegun { response.headers[.connection] = "close" }
        return response
    }
}

/// The responses to failures of the inner service: its 404 is a 404, a session that is shut down a 503, a limit on time a 504, and every
/// other failure a 502. The reason goes to the log: it names hosts and addresses that are no business of clients.
struct UpstreamErrors<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Hummingbird.Request, context: Context,
        next: @concurrent (Hummingbird.Request, Context) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        do {
            return try await next(request, context)
        } catch let error as TrellisError {
            if error.kind == .unacceptableStatus, error.response?.status == .notFound { throw HTTPError(.notFound) }
            context.logger.warning("The service behind has failed", metadata: ["error": "\(error)"])
            switch error.kind {
            case .cancelled where !error.mayHaveSentBytes:
                throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: "shutting down")
            case .connectTimeout, .responseTimeout, .idleTimeout, .totalTimeout:
                throw HTTPError(.gatewayTimeout, message: "the service behind does not respond in time")
            default: throw HTTPError(.badGateway, message: "the service behind has failed")
            }
        }
    }
}
