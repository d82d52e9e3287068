package import FoundationEssentials
private import Glibc

/// The masking of bytes with a repeated key of four bytes (RFC 6455, section 5.3), eight bytes at a time.
package enum MaskedBytes {
    /// Returns `head` and the masked payload, in one buffer; `nil` if memory has run out. The bytes of the key are those of `mask` in
    /// memory; a mask of zero changes nothing.
    package static func frame(_ head: [UInt8], _ payload: Span<UInt8>, mask: UInt32) -> Data? {
        let count = head.count + payload.count
        guard let memory = unsafe malloc(max(count, 1)) else { return nil }
        let result = unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
        unsafe result.copyBytes(from: head)
        unsafe payload.withUnsafeBytes { payload in
            unsafe mix(payload, into: UnsafeMutableRawBufferPointer(rebasing: result[head.count...]), mask)
        }
        return unsafe Data(bytesNoCopy: memory, count: count, deallocator: .free)
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
