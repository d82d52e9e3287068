#if Service
import Testing
import TrellisCore
import TrellisNameServices
import TrellisService
import TrellisTesting

/// The resolver of a session that ends as a service.
@Suite(.timeLimit(.minutes(3)))
struct ServiceResolverTests {
    @Test(arguments: [true, false]) func theServiceEndsAResolverThatNobodyElseKnows(isItsOwn: Bool) async throws {
        // Nothing listens on this port.
        var resolver = try DNSOverHTTPS("http://127.0.0.1:1/dns-query")
        if isItsOwn { resolver.users = ResolverUsers() }
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("done") })
        let run = Task { await SessionService(session).run() }
        run.cancel()
        await run.value
        let error = await #expect(throws: TrellisError.self) {
            try await resolver.addresses(of: "www.example.com", family: .ipv4)
        }
        #expect(error?.kind == (isItsOwn ? .cancelled : .connect))
        await resolver.shutdown()
    }

    @Test(arguments: [true, false]) func theServiceOfTheLastSessionEndsTheirResolver(isDropped: Bool) async throws {
        var resolver = try DNSOverHTTPS("http://127.0.0.1:1/dns-query")
        resolver.users = ResolverUsers()
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        let transport = MockTransport { _ in .text("done") }
        var first: Session? = Session(configuration: configuration, transport: transport)
        let second = Session(configuration: configuration, transport: transport)
        if isDropped {
            #expect(first != nil)
            first = nil
        } else if let first {
            let run = Task { await SessionService(first).run() }
            run.cancel()
            await run.value
        }
        let error = await #expect(throws: TrellisError.self) {
            try await resolver.addresses(of: "www.example.com", family: .ipv4)
        }
        #expect(error?.kind == .connect)
        let run = Task { await SessionService(second).run() }
        run.cancel()
        await run.value
        let end = await #expect(throws: TrellisError.self) {
            try await resolver.addresses(of: "www.example.com", family: .ipv4)
        }
        #expect(end?.kind == .cancelled)
    }
}
#endif
