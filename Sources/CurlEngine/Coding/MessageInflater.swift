private import CCurl
private import Glibc

/// The decompression of messages that share a context (RFC 7692, section 7.2.2), in pieces of bounded size.
@safe
package final class MessageInflater {
    /// The reasons why a message cannot be decompressed.
    package enum Failure: Error, Hashable, Sendable {
        /// The bytes are no deflate blocks, or repeat bytes from outside the window.
        case corrupt
        /// Memory has run out.
        case outOfMemory
    }

    /// The largest size of a piece in bytes.
    private static let roomSize = 16 << 10
    /// The bytes at the end of a flushed stream, which are not sent.
    private static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]

    private let handle: OpaquePointer
    private let keepsContext: Bool

    /// Creates a decompressor.
    ///
    /// - Parameters:
    ///   - windowBits: The logarithm of the largest distance in bytes at which bytes may be repeated, from 8 to 15. Bytes of earlier calls
    ///     at a larger distance are not there any more, and repeating them is a failure.
    ///   - keepsContext: Whether a message may repeat bytes of the messages before.
    /// - Returns: `nil` if zlib is missing or memory has run out.
    package init?(windowBits: Int, keepsContext: Bool) {
        guard let handle = unsafe ccurl_deflate_create(false, Int32(windowBits), 0, 0) else { return nil }
        unsafe self.handle = handle
        self.keepsContext = keepsContext
    }

    deinit { unsafe ccurl_deflate_free(handle) }

    /// Decompresses the next bytes of a message.
    ///
    /// - Parameter take: Receives a piece of the message. If `take` returns `false`, the decompression ends and cannot be continued.
    package func inflate(_ bytes: Span<UInt8>, into take: (Span<UInt8>) -> Bool) throws(Failure) {
        let result = unsafe bytes.withUnsafeBytes { bytes in unsafe run(bytes, take) }
        try result.get()
    }

    /// Ends a message. Must not be called after `take` has returned `false`.
    package func finish() throws(Failure) {
        // The end of a flushed stream is the second part of an empty block. If it has output, it was taken for part of another block.
        var hasOutput = false
        let result = unsafe Self.tail.withUnsafeBytes { bytes in
            unsafe run(bytes) { _ in
                hasOutput = true
                return false
            }
        }
        try result.get()
        guard unsafe !hasOutput && ccurl_deflate_is_between_blocks(handle) else { throw .corrupt }
        guard unsafe keepsContext || ccurl_deflate_reset(handle) else { throw .outOfMemory }
        unsafe ccurl_deflate_begin_message(handle)
    }

    private func run(_ bytes: UnsafeRawBufferPointer, _ take: (Span<UInt8>) -> Bool) -> Result<Void, Failure> {
        guard let memory = unsafe malloc(Self.roomSize) else { return .failure(.outOfMemory) }
        defer { unsafe free(memory) }
        let room = unsafe memory.assumingMemoryBound(to: UInt8.self)
        var flow = unsafe ccurl_flow(
            in: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), in_left: bytes.count, out: nil, out_left: 0)
        repeat {
            unsafe flow.out = room
            unsafe flow.out_left = Self.roomSize
            let before = unsafe flow.in_left
            let status = unsafe ccurl_deflate_run(handle, &flow)
            let count = unsafe Self.roomSize - flow.out_left
            // Output before a failure is part of the message, and may exceed its limit, or not be text.
            let piece = unsafe UnsafeBufferPointer(start: room, count: count)
            if count > 0, unsafe !take(piece.span) { return .success(()) }
            if status == CCURL_CODEC_NO_MEMORY { return .failure(.outOfMemory) }
            // Without progress, the loop would not end.
            if unsafe status < 0 || count == 0 && flow.in_left == before && before > 0 { return .failure(.corrupt) }
        } while unsafe flow.in_left > 0 || flow.out_left == 0
        return .success(())
    }
}
