import Testing

@testable import CurlEngine

/// How much of a body libcurl takes at once.
struct UploadBufferSizeTests {
    @Test(
        arguments: [
            (nil, 512 << 10), (0, 16 << 10), (1, 16 << 10), (100_000, 100_000), (1 << 30, 512 << 10), (.max, 512 << 10),
        ] as [(Int64?, Int)])
    func itIsNoLargerThanTheBody(_ length: Int64?, _ size: Int) {
        #expect(UploadBufferSize.bytes(length: length, mayBeHTTP2: false, sendsHTTP2Safely: false) == size)
        #expect(UploadBufferSize.bytes(length: length, mayBeHTTP2: true, sendsHTTP2Safely: true) == size)
    }

    /// Seen on 7.88: a body of which bytes were sent twice, in place of others, by 128 KiB buffers and larger ones.
    @Test(arguments: [nil, 0, 100_000, 1 << 30] as [Int64?])
    func anOldLibcurlGetsOverHTTP2WhatASocketTakesAtOnce(_ length: Int64?) {
        #expect(UploadBufferSize.bytes(length: length, mayBeHTTP2: true, sendsHTTP2Safely: false) == 16 << 10)
    }
}
