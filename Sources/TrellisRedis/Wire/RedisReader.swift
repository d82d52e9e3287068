#if Redis
private import CHiredis
import FoundationEssentials

/// The decoder of a server's replies, through hiredis. It belongs to one connection.
@safe
final class RedisReader {
    /// The largest number of bytes of a reply: 32 MiB.
    static let maximumReply = 32 << 20

    private let handle: OpaquePointer

    /// Creates a decoder; `nil` if memory has run out.
    ///
    /// - Parameter limit: The largest number of bytes of a reply.
    init?(limit: Int = maximumReply) {
        guard let handle = unsafe credis_reader_create(limit) else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe credis_reader_free(handle) }

    /// Returns the replies that bytes of the server complete.
    ///
    /// - Throws: ``RedisFailure/malformed`` if the bytes are no replies, or too many.
    func replies(completedBy bytes: Data) throws(RedisFailure) -> [RedisValue] {
        let isTaken = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe credis_reader_feed(handle, $0, bytes.count) } ?? true
        }
        guard isTaken else { throw .malformed }
        var replies: [RedisValue] = []
        while true {
            let count = unsafe credis_reader_next(handle)
            guard count > 0 else {
                guard count == 0 else { throw .malformed }
                return replies
            }
            let tokens = unsafe [UInt8](UnsafeRawBufferPointer(start: credis_reader_tokens(handle), count: count))
            var rest = tokens[...]
            guard let reply = RedisValue(tokens: &rest), rest.isEmpty else { throw .malformed }
            replies.append(reply)
        }
    }
}
#endif
