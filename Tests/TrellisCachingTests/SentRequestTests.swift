import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Validators see the request as it was sent, or as it would have been sent if its response had not been stored or shared.
@Suite(.timeLimit(.minutes(3)))
struct SentRequestTests {
    private typealias World = CacheWorld

    /// A way to a response.
    enum Form: CaseIterable, Sendable { case verb, handle, stream, streamVerb }

    private static let page: MockTransport.Handler = { _ in
        World.response("<p>", [.cacheControl: "max-age=60", .contentType: "text/html"])
    }

    private static func read(_ form: Form, _ request: Request, in session: Session) async throws {
        switch form {
        case .verb: _ = try await session.string(request)
        case .handle: _ = try await session.request(request).validate().data()
        case .stream: _ = try await session.streamRequest(request).validate().response
        case .streamVerb: _ = try await session.stream(request).validate()
        }
    }

    /// The same call is not refused the first time and accepted after that.
    @Test(arguments: Form.allCases, [true, false])
    func theAcceptHoldsForAStoredResponse(_ form: Form, _ isOfSession: Bool) async throws {
        let world = World(
            { if isOfSession { $0.accept = "application/json" } }, Self.page)
        let request = Request(World.url, headers: isOfSession ? [:] : [.accept: "application/json"])
        _ = try await world.session.data(request)
        let error = await #expect(throws: TrellisError.self) { try await Self.read(form, request, in: world.session) }
        #expect(error?.kind == .unacceptableContentType)
        #expect(world.transport.requests.count == 1)
    }

    /// The shared request is another call's.
    @Test(arguments: [Form.verb, .handle]) func theAcceptHoldsForASharedResponse(_ form: Form) async throws {
        let world = World(
            {
                $0.accept = "application/json"
                $0.steps.cache = nil
                $0.steps.application = [RequestCoalescing()]
            }, Self.page)
        let error = await #expect(throws: TrellisError.self) {
            try await Self.read(form, Request(World.url), in: world.session)
        }
        #expect(error?.kind == .unacceptableContentType)
    }

    /// The request of a hop that was answered by the cache is not that of the hop before.
    @Test(arguments: [true, false]) func aStoredResponseAfterARedirectHasItsRequest(_ isStream: Bool) async throws {
        let target = "http://localhost/b"
        let world = World { request in
            request.url == target
                ? World.response("b") : MockResponse(status: 302, headers: [.location: target])
        }
        _ = try await world.session.data(target)
        let urls = Locked<[String]>([])
        let check: Validator.Check = { request, _, _ in urls.withLock { $0.append(request.url) } }
        if isStream {
            _ = try await world.session.streamRequest(Request(World.url)).validate(check).response
        } else {
            _ = try await world.session.request(Request(World.url)).validate(check).data()
        }
        #expect(urls.withLock { $0 } == [target])
        #expect(world.transport.requests.map(\.url) == [target, World.url])
    }

    /// A retrier decides about the request that would have been sent.
    @Test func aRetrierSeesTheRequestOfAStoredResponse() async throws {
        let seen = Locked<[String?]>([])
        let world = World(
            {
                $0.accept = "application/json"
                $0.steps.retriers = [
                    Retrier { failed, _ in
                        seen.withLock { $0.append(failed.request.headers[.accept]) }
                        return .doNotRetry
                    }
                ]
            }, Self.page)
        _ = try await world.session.data(World.url)
        _ = try? await world.session.string(World.url)
        #expect(seen.withLock { $0 } == ["application/json"])
        #expect(world.transport.requests.count == 1)
    }
}
