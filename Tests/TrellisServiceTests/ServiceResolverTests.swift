#if Service
import Testing
import Trellis
import TrellisService
import TrellisTesting

/// The resolver of a session that ends as a service.
@Suite(.timeLimit(.minutes(3)))
struct ServiceResolverTests {
    @Test(arguments: [true, false]) func theServiceEndsAResolverThatNobodyElseKnows(isItsOwn: Bool) async throws {
        // Nothing listens on this port.
        var resolver = try DNSOverHTTPS("http://127.0.0.1:1/dns-query")
        resolver.endsWithService = isItsOwn
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
}
#endif
