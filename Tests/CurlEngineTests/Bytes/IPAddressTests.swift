import Testing

@testable import CurlEngine

/// The texts that are addresses.
struct IPAddressTests {
    @Test(arguments: ["127.0.0.1\0", "127.0.0.1\0.example", "::1\0", "[::1\0]", "\0127.0.0.1"])
    func aTextIsNotReadUpToItsNUL(_ text: String) { #expect(IPAddress(text) == nil) }
}
