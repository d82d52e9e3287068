package import FoundationEssentials
private import Glibc

/// The masking of bytes with a repeated key of four bytes (RFC 6455, section 5.3), eight bytes at a time.
package enum MaskedBytes {
    /// Returns a head and a masked payload, in one buffer; `nil` if memory has run out. The bytes of the key are the bytes of `mask` in
    /// memory; a mask of zero changes nothing.
    ///
    /// - Parameters:
    ///   - headCapacity: The largest size of the head in bytes.
    ///   - writeHead: A closure that writes the head.
    package static func frame(
        headCapacity: Int, _ payload: Span<UInt8>, mask: UInt32, writeHead: (inout OutputSpan<UInt8>) -> Void
    ) -> Data? {
        let capacity = headCapacity + payload.count
        guard let memory = unsafe malloc(max(capacity, 1)) else { return nil }
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: capacity)
        let count = unsafe write(payload, mask: mask, to: buffer, headCapacity: headCapacity, writeHead)
        return unsafe Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }

    /// Calls `body` with a head and a masked payload, which are in memory only during the call. Returns its result.
    ///
    /// The parameters are as in ``frame(headCapacity:_:mask:writeHead:)``.
    package static func withFrame<Result, Failure: Error>(
        headCapacity: Int, _ payload: Span<UInt8>, mask: UInt32, writeHead: (inout OutputSpan<UInt8>) -> Void,
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeTemporaryAllocation(
            of: UInt8.self, capacity: headCapacity + payload.count
        ) { buffer throws(Failure) in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            let count = unsafe write(payload, mask: mask, to: buffer, headCapacity: headCapacity, writeHead)
            return try unsafe body(UnsafeRawBufferPointer(start: buffer.baseAddress, count: count).bytes)
        }
    }

    private static func write(
        _ payload: Span<UInt8>, mask: UInt32, to buffer: UnsafeMutableRawBufferPointer, headCapacity: Int,
        _ writeHead: (inout OutputSpan<UInt8>) -> Void
    ) -> Int {
        let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<headCapacity]).bindMemory(to: UInt8.self)
        var head = unsafe OutputSpan(buffer: bytes, initializedCount: 0)
        writeHead(&head)
        let headCount = unsafe head.finalize(for: bytes)
        unsafe payload.withUnsafeBytes { payload in
            unsafe mix(payload, into: UnsafeMutableRawBufferPointer(rebasing: buffer[headCount...]), mask)
        }
        return headCount + payload.count
    }

    private static func mix(
        _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ mask: UInt32
    ) {
        let key = UInt64(mask) | UInt64(mask) << 32
        let words = source.count & ~7
        for offset in stride(from: 0, to: words, by: 8) {
            let word = unsafe source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            unsafe target.storeBytes(of: word ^ key, toByteOffset: offset, as: UInt64.self)
        }
        for offset in words..<source.count {
            let byte = UInt8(truncatingIfNeeded: key.littleEndian >> UInt64(8 * (offset & 7)))
            unsafe target[offset] = unsafe source[offset] ^ byte
        }
    }
}
