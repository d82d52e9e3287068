import Testing

@testable import CurlEngine

/// What versions of libcurl can do.
struct LibcurlFeaturesTests {
    /// libcurl 8.7.0 and 8.7.1 say that nothing was sent, whatever was.
    @Test(arguments: [
        (0x07_58_01, true), (0x08_06_00, true), (0x08_07_00, false), (0x08_07_01, false), (0x08_08_00, true),
    ])
    func bytesOfARequestAreCounted(_ version: UInt32, _ areCounted: Bool) {
        #expect(LibcurlFeatures.countsRequests(version) == areCounted)
    }
}
