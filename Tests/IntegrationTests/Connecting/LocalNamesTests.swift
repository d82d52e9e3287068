import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Names that only the machine or its network knows, and a server of DNS over HTTPS, which must not learn them.
@Suite(.timeLimit(.minutes(3)))
struct LocalNamesTests {
    private static func session(_ dns: LoopbackServer, _ names: LocalNames) throws -> Session {
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS(dns.url("/dns-query"), localNames: names)
        return Session(configuration: configuration)
    }

    private static func asked(_ dns: LoopbackServer) -> Set<String> {
        Set(dns.requests.compactMap { DNSOverHTTPSTests.Question($0)?.name })
    }

    /// The system does not know these names either.
    @Test(arguments: [
        "no-such-name", "No-Such-Name.local", "no-such-name.internal.", "a.no-such-name.home.arpa",
        "no-such-name.corp.invalid",
    ])
    func theServerIsNotAskedForALocalName(_ name: String) async throws {
        let (dns, web) = (try DNSOverHTTPSTests.server(), try LoopbackServer.http { _ in .text("ok") })
        var names = LocalNames.standard
        names.hosts.append(try HostPattern("**.corp.invalid"))
        let session = try Self.session(dns, names)
        await expectFailure([.dns]) { try await session.data("http://\(name):\(web.port)/") }
        #expect(dns.acceptedCount == 0)
        // The server is there.
        #expect(try await session.string("http://name.far.invalid:\(web.port)/") == "ok")
        #expect(Self.asked(dns) == ["name.far.invalid"])
        await session.shutdown()
    }

    /// A proxy that wants addresses of servers gets none from the server, and neither does the connection to a proxy.
    @Test(arguments: [
        ("no-such-name.local", "socks5://127.0.0.1:1"), ("name.far.invalid", "http://no-such-name.internal:3128"),
    ])
    func theServerIsNotAskedForALocalNameWithAProxy(_ host: String, _ proxy: String) async throws {
        let dns = try DNSOverHTTPSTests.server()
        var configuration = SessionConfiguration()
        configuration.resolver = try DNSOverHTTPS(dns.url("/dns-query"))
        configuration.proxy = .always(try Proxy(proxy))
        let session = Session(configuration: configuration)
        await expectFailure([.dns, .proxy]) { try await session.data("http://\(host)/") }
        #expect(dns.acceptedCount == 0)
        await session.shutdown()
    }

    /// A name of one label that the machine's file of names has for 127.0.0.1, such as the machine's name.
    private static let ownName: String? = {
        let text = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("127.0.0.1") {
            let names = line.split { " \t".contains($0) }.dropFirst()
            if let name = names.first(where: { !$0.contains(".") && $0 != "localhost" }) { return String(name) }
        }
        return nil
    }()

    @Test(.enabled(if: ownName != nil, "needs a name of one label for 127.0.0.1 in /etc/hosts"))
    func theSystemFindsALocalName() async throws {
        let name = try #require(Self.ownName)
        let (dns, web) = (try DNSOverHTTPSTests.server(), try LoopbackServer.http { .text($0["Host"] ?? "") })
        for names in [LocalNames.standard, LocalNames(includesHostsFile: true)] {
            let session = try Self.session(dns, names)
            #expect(try await session.string("http://\(name):\(web.port)/") == "\(name):\(web.port)")
            await session.shutdown()
        }
        #expect(dns.acceptedCount == 0)
        let session = try Self.session(dns, .none)
        #expect(try await session.string("http://\(name):\(web.port)/") == "\(name):\(web.port)")
        #expect(Self.asked(dns) == [name])
        await session.shutdown()
    }

    /// The file is read for each lookup. The system has another one, and so does not know the name.
    @Test func aNameOfTheHostsFileIsNotAskedFor() async throws {
        let (dns, folder) = (try DNSOverHTTPSTests.server(), try Folder())
        var names = LocalNames.standard
        names.hostsFile = folder("hosts")
        let resolver = try DNSOverHTTPS(dns.url("/dns-query"), localNames: names)
        folder.write(Data("127.0.0.1 localhost wiki.far.invalid\n".utf8), to: "hosts")
        await expectFailure([.dns]) { try await resolver.addresses(of: "wiki.far.invalid.", family: .ipv4) }
        #expect(dns.acceptedCount == 0)
        folder.write(Data("127.0.0.1 localhost # wiki.far.invalid\n".utf8), to: "hosts")
        let found = try await resolver.addresses(of: "wiki.far.invalid", family: .ipv4)
        #expect(found.addresses == ["127.0.0.1"])
        await resolver.shutdown()
    }
}
