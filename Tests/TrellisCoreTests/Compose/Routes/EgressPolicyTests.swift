import Testing

@testable import CurlEngine
@testable import TrellisCore

/// An egress policy judges addresses.
struct EgressPolicyTests {
    private static func isAllowed(_ address: String, _ policy: EgressPolicy) throws -> Bool {
        policy.rules.denial(of: try #require(IPAddress(address))) == nil
    }

    /// The addresses of published lists of server-side request forgery, and the first and last addresses of special networks with their
    /// neighbours.
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
        "127.0.0.1", "127.127.127.127", "127.255.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2",
        "168.63.129.16", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.192", "192.0.2.1", "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.255", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "0:0:0:0:0:ffff:10.0.0.1",
        "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "64:ff9b:1::8.8.8.8",
        "100::1", "2001::1", "2001:0:7f00:1::", "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1",
        "3fff::1", "3fff:fff:ffff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1",
        "fe80::a9fe:a9fe", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
    ])
    func thePublicInternetHasNoSpecialAddresses(_ address: String) throws {
        #expect(try !Self.isAllowed(address, .publicInternet))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8", "2000::1", "2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1",
        "3ffe:ffff::1", "3fff:1000::1",
    ])
    func thePublicInternetHasAllOthers(_ address: String) throws {
        #expect(try Self.isAllowed(address, .publicInternet))
    }

    @Test func everyNetworkOfThePublicInternetIsRead() {
        #expect(EgressPolicy.publicInternet.deniedNetworks.count == 25)
        #expect(EgressPolicy.publicInternet.allowedNetworks.count == 2)
    }

    @Test(arguments: [
        ("10.1.2.3", true), ("10.2.0.1", false), ("10.1.9.9", false), ("10.1.9.8", true), ("8.8.8.8", true),
        ("64:ff9b::10.1.2.3", true), ("64:ff9b::10.2.2.3", false), ("::ffff:10.1.2.3", true),
    ])
    func theSmallestNetworkDecides(_ address: String, _ isAllowed: Bool) throws {
        let policy = try EgressPolicy.publicInternet.allowing("10.1.0.0/16").denying("10.1.9.9")
        #expect(try Self.isAllowed(address, policy) == isAllowed)
    }

    @Test func forTheSameNetworkTheDenialDecides() throws {
        for policy in [
            try EgressPolicy().allowing("10.0.0.0/8").denying("10.0.0.0/8"),
            try EgressPolicy().denying("10.9.9.9/8").allowing("10.0.0.0/8"),
        ] {
            #expect(try !Self.isAllowed("10.1.2.3", policy))
        }
    }

    /// Translators and tunnels reach a denied address under another one.
    @Test(arguments: [
        ("64:ff9b::a01:203", false), ("2002:a01:203::1", false), ("2001:0:a01:203::1", false),
        ("2001:0:808:808:0:0:f5fe:fdfc", false), ("2001:0:808:808:0:0:f7f7:f7f7", true), ("2002:808:808::1", true),
        ("64:ff9b::808:808", true), ("2001:db8::a01:203", true), ("::ffff:10.1.2.3", false),
        ("::10.1.2.3", false), ("::8.8.8.8", true), ("::ffff:0:10.1.2.3", false), ("::ffff:0:8.8.8.8", true),
    ])
    func translatedAddressesCountToo(_ address: String, _ isAllowed: Bool) throws {
        #expect(try Self.isAllowed(address, EgressPolicy().denying("10.0.0.0/8")) == isAllowed)
    }

    @Test func loopbackAndTheUnspecifiedAddressOfIPv6AreThemselves() throws {
        let policy = try EgressPolicy().denying("0.0.0.0/8")
        #expect(try Self.isAllowed("::1", policy) && Self.isAllowed("::", policy) && !Self.isAllowed("::2", policy))
    }

    @Test func theDescriptionHasTheRulesInOneOrder() throws {
        #expect("\(EgressPolicy.publicInternet)" == "EgressPolicy.publicInternet")
        var policy = try EgressPolicy().denying("10.0.0.0/8").allowing("10.1.0.0/16")
        policy.ports = [8443, 443]
        policy.deniedHosts = [try HostPattern("admin.example")]
        let rules = [
            "allowedNetworks: [10.1.0.0/16]", "deniedNetworks: [10.0.0.0/8]", "schemes: [http, https]",
            "ports: [443, 8443]", "allowedHosts: all", "deniedHosts: [admin.example]",
            "allowsNamesThroughProxies: false", "allowsUnixSockets: false",
        ]
        #expect("\(policy)" == "EgressPolicy(\(rules.joined(separator: ", ")))")
    }

    @Test func onlyAllowedNetworksRemainIfAllIsDenied() throws {
        let policy = try EgressPolicy().denying("0.0.0.0/0", "::/0").allowing("198.51.100.0/24")
        #expect(try Self.isAllowed("198.51.100.7", policy))
        #expect(try !Self.isAllowed("8.8.8.8", policy) && !Self.isAllowed("2a00::1", policy))
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "2001:db8::/129", "example.com", "/8"])
    func otherTextsAreNoNetworks(_ text: String) {
        #expect(throws: TrellisError.self) { try EgressPolicy().denying(text) }
    }

    @Test(arguments: [
        ("10.1.0.0/16", "10.1.255.255", true), ("10.1.0.0/16", "10.2.0.0", false),
        ("2001:db8::/33", "2001:db8::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false), ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false),
        ("0.0.0.0/0", "::1", false), ("10.0.0.0/8", "a", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
    ])
    func aNetworkContainsItsAddresses(_ network: String, _ address: String, _ isInside: Bool) throws {
        #expect(try IPNetwork(network).contains(address) == isInside)
    }
}
