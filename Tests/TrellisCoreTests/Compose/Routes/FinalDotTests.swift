import CurlEngine
import Testing

@testable import TrellisCore

/// A name with a dot at its end is the same host as the name without it, for all rules about hosts, and another origin.
struct FinalDotTests {
    private static let names = ["api.example.com", "api.example.com."]

    @Test(
        arguments: names, ["*.example.com", "*.example.com.", "**.example.com", "api.example.com", "API.Example.com."])
    func patternsMatchBoth(_ name: String, _ pattern: String) throws {
        #expect(try HostPattern(pattern).matches(name))
    }

    @Test(arguments: names, names)
    func routesKnowBoth(_ name: String, _ own: String) throws {
        #expect(try StaticAddresses("\(own):443:192.0.2.1").addresses(of: name, port: 443) == ["192.0.2.1"])
        #expect(try ConnectTo("\(own)::other.example:").matches(host: name, port: 443))
        #expect(ProxyExceptions(own).match(host: name, port: 443) != nil)
    }

    /// A host is connected as it is named.
    @Test func theConnectionKeepsTheDot() throws {
        #expect(try ConnectTo("a.example::b.example.:").targetHost == "b.example.")
    }

    @Test(arguments: names)
    func storesKnowBoth(_ name: String) {
        #expect(CookieURL("https://\(name)/")?.host == Self.names[0])
    }

    @Test func theyAreTwoOrigins() throws {
        let origins = try Self.names.map { URLOrigin(try WireURL(parsing: "https://\($0)/")) }
        #expect(origins[0] != origins[1] && origins[1].host == "api.example.com.")
        #expect(URLOrigin(scheme: "http", host: "localhost.", port: 80).isLoopback)
    }
}
