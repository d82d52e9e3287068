import CurlEngine
import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// A transport that makes no connections needs neither the session's resolver nor its proxies nor the files of its certificates.
@Suite(.timeLimit(.minutes(3)))
struct TransportConnectionsTests {
    /// A resolver that counts the names that it is asked for, and knows none.
    private final class NoNames: NameResolver {
        private let names = Locked<[String]>([])
        var asked: [String] { names.withLock { $0 } }

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            names.withLock { $0.append(name) }
            throw DNSFailure.noSuchName
        }
    }

    private let names = NoNames()
    private static let url = "https://mock.example/"

    private var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.resolver = names
        configuration.tls = TLSConfiguration(authorities: .only([.file("/nonexistent.pem")]))
        return configuration
    }

    /// The transports, each with the name of its kind.
    private static var transports: [(String, any Transport)] {
        let router = MockRouter()
        router.route(.get, "/").respond(with: .text("hello"))
        let server = InProcessTransport { _ in .text("hello") }
        return [
            ("router", router), ("in process", server),
            ("faults", FaultTransport(wrapping: server, faults: [.first(1, .latency(.zero, .responseHead))])),
        ]
    }

    @Test(arguments: [0, 1, 2], [false, true])
    func nothingIsAskedFor(_ index: Int, asOverride: Bool) async throws {
        let (name, transport) = Self.transports[index]
        let session = Session(configuration: configuration, transport: asOverride ? nil : transport)
        let text =
            asOverride
            ? try await withTransport(transport) { try await session.string(Self.url) }
            : try await session.string(Self.url)
        #expect(text == "hello", "\(name)")
        #expect(names.asked.isEmpty)
        await session.shutdown()
    }

    @Test func aTransportThatSendsNothingAsksForNothing() async throws {
        let session = Session(configuration: configuration, transport: NoNetworkTransport())
        let error = await #expect(throws: TrellisError.self) { try await session.string(Self.url) }
        #expect(error?.description.contains("the test has no network") == true)
        #expect(names.asked.isEmpty)
        await session.shutdown()
    }

    /// Tests of resolvers and certificates need a transport that makes connections, or seems to.
    @Test func aMockSeemsToMakeConnections() async throws {
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        await #expect(throws: TrellisError.self) { try await session.string(Self.url) }
        await #expect(throws: TrellisError.self) { try await session.string("http://mock.example/") }
        #expect(names.asked.contains("mock.example"))
        await session.shutdown()
    }
}
