import Testing
import Trellis
import TrellisTesting

/// The options of curl for the stores, the resolver and the trust of a session.
struct CURLStoresTests {
    @Test func whatTheSessionAddsIsARemarkOrAnOption() throws {
        var configuration = SessionConfiguration()
        configuration.hsts = HSTSStore()
        configuration.alternativeServices = AlternativeServiceStore(file: "/tmp/none")
        configuration.serverTrustManager = try ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: ["server.example": DefaultTrustEvaluator()])
        configuration.resolver = SystemNameResolver()
        let own = TLSConfiguration(authorities: .only([.file("a")]))
        configuration.tlsForHosts = [try HostPattern("server.example"): own]
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("") })
        let secure = try session.cURLDescription(of: "https://server.example/")
        #expect(secure.contains(" --alt-svc /tmp/none ") && secure.contains(" --cacert a "))
        #expect(
            secure.hasSuffix(
                " # curl does not have the session's resolver; curl does not ask the evaluator of server.example, such as pins"
                    + "; curl does not have the session's HSTS store"))
        #expect(!(try session.cURLDescription(of: "http://server.example/")).contains("evaluator"))
        #expect(!(try session.cURLDescription(of: "https://other.example/")).contains("evaluator"))
    }
}
