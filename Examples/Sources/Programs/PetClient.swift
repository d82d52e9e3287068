import Foundation
import Trellis

struct Pet: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

/// The service's words for a refusal.
struct Problem: Decodable, Sendable {
    var code: String
    var message: String
}

struct Tokens: AuthenticationCredential, Codable {
    var access: String
    var refresh: String
    var requiresRefresh: Bool { false }  // a 401 begins the refresh
}

/// A client of a service that wants a fresh token and a signature with every request.
struct PetClient: Sendable {
    let session: Session

    /// Creates a client. Its parameters are those that its tests set: the address, the transport and the clock.
    init(
        baseURL: String = "https://pets.example.com/v2/", tokens: Tokens, key: String,
        save: @escaping @Sendable (Tokens) async throws -> Void = { _ in },
        log: @escaping @Sendable (String) -> Void = { _ in },
        transport: (any Transport)? = nil, clock: (any Clock<Duration>)? = nil
    ) {
        let signature = Signature(key: key)
        let oauth = OAuth(signature: signature, save: save)
        var configuration = SessionConfiguration()
        configuration.baseURL = baseURL
        configuration.timeouts = Timeouts(total: .seconds(5))
        configuration.retry = RetryPolicy(retryLimit: 3, addsIdempotencyKey: true)
        configuration.limits.requestsPerOrigin = 4
        configuration.authentication = .interceptor(
            AuthenticationInterceptor(authenticator: oauth, credential: tokens))
        configuration.steps.signers.append(signature)
        configuration.steps.network.append(FailureLog(write: log))
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// The pet, if there is one.
    func pet(_ id: Int) async throws -> Pet? {
        do {
            return try await session.decode(Pet.self, from: "pets/\(id)", orError: Problem.self)
        } catch let error as ErrorResponse<Problem> where error.response.status == .notFound {
            return nil
        }
    }

    func add(name: String) async throws -> Pet {
        let request = try Request("pets", method: .post, body: .json(["name": name]))
        return try await session.decode(Pet.self, from: request, orError: Problem.self)
    }

    /// All pets, a page at a time.
    func pets() -> PageSequence<[Pet]> { session.pages(of: [Pet].self, from: "pets") }

    func pets(_ ids: [Int]) async throws -> [Pet?] {
        try await session.map(ids, concurrency: 20) { _, id in try await pet(id) }
    }
}

struct OAuth: Authenticator {
    let signature: Signature
    let save: @Sendable (Tokens) async throws -> Void

    func apply(_ tokens: Tokens, to request: inout Request) {
        request = request.withAuthorization(bearerToken: tokens.access)
    }

    func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens {
        // The signers of the session do not run here.
        let request = try Request("token", method: .post, body: .json(["refresh": tokens.refresh]))
            .withSteps { $0.signers.append(signature) }
        let new = try await session.decode(Tokens.self, from: request)
        try await save(new)
        return new
    }
}

struct Signature: RequestSigner {
    let key: String

    func sign(_ request: inout WireRequest, context: CallContext) async throws {
        let body = try await request.body?.collect(upTo: 1 << 20) ?? Data()
        let text = [request.method.rawValue, request.target, String(decoding: body, as: UTF8.self)].joined(
            separator: "\n")
        request.headers["X-Signature"] = code(of: Data(text.utf8))
    }

    /// Stands for an HMAC, such as the one of swift-crypto: anybody could compute this sum.
    func code(of data: Data) -> String {
        let sum = (Data(key.utf8) + data).reduce(UInt64(5381)) { $0 &* 33 &+ UInt64($1) }
        return String(sum, radix: 16)
    }
}

/// Writes what the service says about the requests that it refuses.
struct FailureLog: RequestStep {
    let write: @Sendable (String) -> Void

    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        let answer = try await next(request)
        guard answer.response.status.code >= 400, let body = answer.data else { return answer }
        let said = String(decoding: body.prefix(1024), as: UTF8.self)
        write("\(request.method) \(request.path), attempt \(context.attempt): \(answer.response.status.code) \(said)")
        return answer
    }
}
