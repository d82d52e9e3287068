import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The addresses that a resolver has returned belong to the operation whose requests have asked for them.
@Suite(.timeLimit(.minutes(3)))
struct TransportNamesTests {
    /// A resolver that counts the lookups.
    private final class Counting: NameResolver {
        private let asked = Locked(0)
        var count: Int { asked.withLock { $0 } }

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            asked.withLock { $0 += 1 }
            return try ResolvedAddresses(["192.0.2.7"], timeToLive: .seconds(60))
        }
    }

    @Test func eachOperationLooksUpItsNames() async throws {
        let resolver = Counting()
        var configuration = SessionConfiguration()
        configuration.resolver = resolver
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("own") })
        for count in 1...2 {
            try await withTransport(MockTransport { _ in .text("operation") }) {
                for _ in 1...3 {
                    let text = try await session.string("http://name.example/")
                    #expect(text == "operation")
                }
                let bytes = try await session.request("http://name.example/").data()
                #expect(bytes.count == 9)
            }
            #expect(resolver.count == count)
        }
        for _ in 1...2 { #expect(try await session.string("http://name.example/") == "own") }
        #expect(resolver.count == 3)
    }

    /// Returns the answer of a DNS server to a question (RFC 1035, section 4.1): one IPv4 address, and no IPv6 address.
    private static func answer(to question: [UInt8]) -> Data {
        var end = 12
        while question[end] != 0 { end += Int(question[end]) + 1 }
        // The type and the class follow the name.
        end += 5
        let isIPv4 = question[end - 3] == 1
        let head: [UInt8] = [question[0], question[1], 0x81, 0x80, 0, 1, 0, isIPv4 ? 1 : 0, 0, 0, 0, 0]
        let record: [UInt8] = isIPv4 ? [0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7] : []
        return Data(head + question[12..<end] + record)
    }

    /// A resolver that asks by HTTP asks the transport of the operation, whose answer the next operation does not use.
    @Test func anAddressFromAMockedServerStaysInItsOperation() async throws {
        let asked = Locked<[String]>([])
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS("https://192.0.2.53/dns-query")
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("own") })
        for name in ["first", "second"] {
            let transport = MockTransport { request in
                guard request.path == "/dns-query" else { return .text(name) }
                asked.withLock { $0.append(name) }
                return MockResponse(
                    headers: [.contentType: "application/dns-message"],
                    body: Self.answer(to: Array(request.body?.data ?? Data())))
            }
            let text = try await withTransport(transport) { try await session.string("http://name.example/") }
            #expect(text == name)
        }
        // The question about IPv6 is given up if the answer about IPv4 comes much earlier.
        #expect(asked.withLock { Set($0) } == ["first", "second"])
    }
}
