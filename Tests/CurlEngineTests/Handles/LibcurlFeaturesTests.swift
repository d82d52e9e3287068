import Testing

@testable import CurlEngine

/// The version of libcurl determines its features.
struct LibcurlFeaturesTests {
    /// The bytes of a request are counted, except with libcurl 8.7.0 and 8.7.1, which always report that nothing was sent.
    @Test(arguments: [
        (0x07_58_01, true), (0x08_06_00, true), (0x08_07_00, false), (0x08_07_01, false), (0x08_08_00, true),
    ])
    func bytesOfARequestAreCounted(_ version: UInt32, _ areCounted: Bool) {
        #expect(LibcurlFeatures.countsRequests(version) == areCounted)
    }
}
