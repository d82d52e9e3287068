private import CCurl
package import FoundationEssentials
private import Glibc

/// The compression of messages that share a context (RFC 7692, section 7.2.1).
@safe
package final class MessageDeflater {
    /// The failure of zlib because memory has run out.
    package struct Failure: Error, Hashable, Sendable {
        /// Creates the failure.
        package init() {}
    }

    /// The four bytes at the end of a flushed stream, which are not sent.
    private static let tailSize = 4
    private static let roomSize = 16 << 10

    private let handle: OpaquePointer
    private let keepsContext: Bool

    /// Creates a compressor.
    ///
    /// - Parameters:
    ///   - windowBits: The logarithm of the largest distance in bytes at which bytes are repeated, from 8 to 15.
    ///   - keepsContext: Whether a message may repeat bytes of the messages before.
    /// - Returns: `nil` if zlib is missing or memory has run out.
    package init?(windowBits: Int, keepsContext: Bool) {
        // The compressor of zlib has no window of 256 bytes. With one of 512, the largest distance is 512 − 262 bytes, because zlib keeps
        // the room of its longest match and its lookahead free (deflate.h), so that the result fits a window of 256.
        let bits = Int32(max(windowBits, 9))
        // Memory for the hash table goes with the window: both together are about 5 × 2^bits bytes.
        let memoryLevel = max(1, bits - 7)
        guard let handle = unsafe ccurl_deflate_create(true, bits, 6, memoryLevel) else { return nil }
        unsafe self.handle = handle
        self.keepsContext = keepsContext
    }

    deinit { unsafe ccurl_deflate_free(handle) }

    /// Returns a compressed message, which is not empty.
    package func deflate(_ message: Span<UInt8>) throws(Failure) -> Data {
        var result = ByteAccumulator()
        let isDone = unsafe message.withUnsafeBytes { bytes in
            unsafe run(bytes, into: &result)
        }
        guard isDone, unsafe keepsContext || ccurl_deflate_reset(handle) else { throw Failure() }
        var data = result.take()
        if data.count >= Self.tailSize { data.removeLast(Self.tailSize) }
        // An empty message after a flush has no block at all; one byte is an empty block (RFC 7692, section 7.2.3.6).
        return data.isEmpty ? Data([0]) : data
    }

    private func run(_ bytes: UnsafeRawBufferPointer, into result: inout ByteAccumulator) -> Bool {
        guard let room = unsafe malloc(Self.roomSize) else { return false }
        defer { unsafe free(room) }
        var flow = unsafe ccurl_flow(
            in: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), in_left: bytes.count, out: nil, out_left: 0)
        repeat {
            unsafe flow.out = room.assumingMemoryBound(to: UInt8.self)
            unsafe flow.out_left = Self.roomSize
            guard unsafe ccurl_deflate_run(handle, &flow) == CCURL_CODEC_MORE else { return false }
            let piece = unsafe UnsafeRawBufferPointer(start: room, count: Self.roomSize - flow.out_left)
            guard unsafe result.append(piece.bytes) else { return false }
        } while unsafe flow.out_left == 0
        return unsafe flow.in_left == 0
    }
}
