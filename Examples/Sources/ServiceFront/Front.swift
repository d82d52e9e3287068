import HTTPTypes
public import Hummingbird
import HummingbirdCore
import NIOCore
import Trellis
public import TrellisService

/// The routes of a small service that gets its data from another one, through a session.
public enum Front {
    /// A user, as the service behind it has them.
    public struct User: ResponseCodable, Sendable {
        /// The name.
        public var name: String

        /// Creates a user.
        public init(name: String) { self.name = name }
    }

    /// Returns a router with the routes `users/:id`, and `health`, the state of the session: 200 while it accepts requests, 503 afterwards.
    ///
    /// - Parameter onRequest: A function that is called with each request for a user that the service has accepted.
    public static func router(
        _ service: SessionService, onRequest: @escaping @Sendable () -> Void = {}
    ) -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: UpstreamErrors())
        router.get("users/:id") { _, context in
            onRequest()
            let id = try context.parameters.require("id", as: Int.self)
            return try await service.session.decode(User.self, from: "users/\(id)")
        }
        router.get("health") { _, _ in
            Hummingbird.Response(
                status: service.health.acceptsRequests ? .ok : .serviceUnavailable,
                body: .init(byteBuffer: ByteBuffer(string: "\(service.health)\n")))
        }
        return router
    }
}

/// The responses to failures of the service behind: its 404 is a 404, a session that is shut down a 503, a limit on time a 504, and every
/// other failure a 502.
struct UpstreamErrors<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Hummingbird.Request, context: Context,
        next: @concurrent (Hummingbird.Request, Context) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        do {
            return try await next(request, context)
        } catch let error as TrellisError {
            switch error.kind {
            case .unacceptableStatus where error.response?.status == .notFound: throw HTTPError(.notFound)
            case .cancelled where !error.mayHaveSentBytes:
                throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: "\(error.reason)")
            case .connectTimeout, .idleTimeout, .deadline:
                throw HTTPError(.gatewayTimeout, message: "\(error.reason)")
            default: throw HTTPError(.badGateway, message: "\(error.reason)")
            }
        }
    }
}
