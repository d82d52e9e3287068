import Testing
import Trellis
import TrellisTesting

/// The recipe for URLs of strangers: a resolver and a rule of proxies refuse whatever leads to the own network.
@Suite(.timeLimit(.minutes(1)))
struct PublicAddressesTests {
    private struct PublicAddresses: NameResolver {
        struct Refused: Error {}

        let known: ResolvedAddresses

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            guard known.addresses.allSatisfy(Self.isPublic) else { throw Refused() }
            return known
        }

        static func isPublic(_ address: String) -> Bool {
            let bytes = address.split(separator: ".").compactMap { Int($0) }
            guard bytes.count == 4 else {  // IPv6: global unicast without the prefixes that contain IPv4 addresses
                let isGlobal = address.hasPrefix("2") || address.hasPrefix("3")
                return isGlobal && address.prefix { $0 != ":" }.count == 4 && !address.hasPrefix("2001:0:")
                    && !address.hasPrefix("2001::") && !address.hasPrefix("2002:")
            }
            return switch (bytes[0], bytes[1]) {
            case (0, _), (10, _), (127, _), (100, 64...127), (169, 254), (172, 16...31): false
            case (192, 0), (192, 168), (198, 18...19), (224..., _): false
            default: true
            }
        }
    }

    private func session(_ addresses: [String]) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.resolver = PublicAddresses(known: try ResolvedAddresses(addresses, timeToLive: .zero))
        configuration.proxy = .selecting { origin in
            let isAddress = origin.host.hasPrefix("[") || origin.host.last?.isNumber == true
            if origin.isLoopback || isAddress { throw PublicAddresses.Refused() }
            return [.direct]
        }
        return Session(configuration: configuration)
    }

    @Test(arguments: [
        "127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "localhost.",
        "a.localhost", "127.1",
    ])
    func hostsThatAreAddressesAreRefused(_ host: String) async throws {
        let server = try LoopbackServer { _ in Issue.record("a connection was made") }
        let session = try session(["192.0.2.1"])
        await #expect(throws: PublicAddresses.Refused.self) { try await session.data("http://\(host):\(server.port)/") }
        await session.shutdown()
    }

    @Test(arguments: [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["fd00::1"], ["::ffff:10.0.0.1"]])
    func namesOfPrivateAddressesAreRefused(_ addresses: [String]) async throws {
        let session = try session(addresses)
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://www.example/") }
        #expect(error?.underlying is PublicAddresses.Refused)
        await session.shutdown()
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("172.15.0.1", true), ("172.16.0.1", false), ("100.127.0.1", false),
        ("169.254.169.254", false), ("200::1", false), ("2::1:2", false), ("255.255.255.255", false),
        ("2a00:1450::1", true), ("2002:7f00:1::", false), ("64:ff9b::7f00:1", false),
        ("fe80::1", false), ("2001:db8::1", true), ("2001::1", false), ("2::1", false),
    ])
    func addressesArePublicOrNot(_ address: String, _ isPublic: Bool) {
        #expect(PublicAddresses.isPublic(address) == isPublic)
    }
}
