import HTTPTypes
import Testing

@testable import TrellisCore

/// The texts of endpoints, and the keys of requests.
struct EndpointTests {
    @Test(
        arguments: [
            ("10.0.0.1:8443", "10.0.0.1", 8443, "10.0.0.1:8443"), ("10.0.0.1", "10.0.0.1", nil, "10.0.0.1"),
            ("Orders-7.Internal:80", "orders-7.internal", 80, "orders-7.internal:80"),
            ("[2001:DB8::7]:443", "[2001:db8::7]", 443, "[2001:db8::7]:443"), ("::1", "[::1]", nil, "[::1]"),
            ("[::1]", "[::1]", nil, "[::1]"),
        ] as [(String, String, Int?, String)])
    func aTextIsAHostWithOrWithoutAPort(_ text: String, _ host: String, _ port: Int?, _ description: String) throws {
        let endpoint = try Endpoint(text)
        #expect(endpoint.host == host && endpoint.port == port && endpoint.description == description)
    }

    @Test(arguments: ["", ":80", "a:", "a:0", "a:65536", "a:b", "a b", "a/b", "[::1", "a:1:2", "a@b"])
    func otherTextsAreErrors(_ text: String) {
        let error = #expect(throws: TrellisError.self) { try Endpoint(text) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test(arguments: [(0, 1), (-5, 1), (7, 7), (Int.max, 65_535)])
    func aWeightIsTakenAsTheNearestOne(_ given: Int, _ weight: Int) throws {
        #expect(try Endpoint("a", weight: given).weight == weight)
    }

    @Test func theKeyOfTheRequestGoesBeforeTheRule() throws {
        let name = try #require(HTTPField.Name("X-Tenant"))
        let rule = EndpointKey.header(name)
        var request = Request("http://a.example/")
        #expect(rule.key(of: request) == nil && EndpointKey.request.key(of: request) == nil)
        request.headers[name] = "t1"
        #expect(rule.key(of: request) == "t1")
        #expect(rule.key(of: request.withEndpointKey("u7")) == "u7")
        #expect(EndpointKey { $0.url }.key(of: request) == "http://a.example/")
    }

    @Test func aPoolInWords() throws {
        #expect("\(EndpointPool([try Endpoint("a:1")], policy: .roundRobin))" == "EndpointPool([a:1], roundRobin)")
        let named = EndpointPool(addressesOf: "a", port: 8, every: .zero, policy: .sticky(by: .request))
        #expect("\(named)" == "EndpointPool(addresses of a:8 every 1.0 seconds, sticky)")
    }
}
