import Testing

@testable import CurlEngine

/// The size of libcurl's upload buffer depends on the length of the body, the HTTP version and libcurl's version.
struct UploadBufferSizeTests {
    @Test(
        arguments: [
            (nil, 512 << 10), (0, 16 << 10), (1, 16 << 10), (100_000, 100_000), (1 << 30, 512 << 10), (.max, 512 << 10),
        ] as [(Int64?, Int)])
    func itIsNoLargerThanTheBody(_ length: Int64?, _ size: Int) {
        #expect(UploadBufferSize.bytes(length: length, mayBeHTTP2: false, sendsHTTP2Safely: false) == size)
        #expect(UploadBufferSize.bytes(length: length, mayBeHTTP2: true, sendsHTTP2Safely: true) == size)
    }

    /// Over HTTP/2, an old libcurl gets at most the bytes that a socket accepts at once: 7.88 sent bytes of a body twice, in place of
    /// others, with buffers of 128 KiB and more.
    @Test(arguments: [nil, 0, 100_000, 1 << 30] as [Int64?])
    func anOldLibcurlGetsOverHTTP2WhatASocketTakesAtOnce(_ length: Int64?) {
        #expect(UploadBufferSize.bytes(length: length, mayBeHTTP2: true, sendsHTTP2Safely: false) == 16 << 10)
    }
}
