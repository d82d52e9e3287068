import CCurl

/// An encoder or decoder of zlib, brotli or zstd.
@safe
final class Codec {
    /// The reasons why a codec cannot continue.
    enum Failure: Error {
        case corrupt, trailingBytes, outOfMemory
    }

    private let handle: OpaquePointer
    /// The failure that the next call throws.
    private var failure: Failure?
    /// Whether the stream may end here.
    private(set) var isEnded = false
    /// Whether more output may follow without input: the output buffer was filled, or a failure was not thrown yet.
    private(set) var mayHoldOutput = false

    init?(_ coding: ContentCoding, encodes: Bool, level: Int32 = 0) {
        guard let handle = unsafe ccurl_codec_create(coding.number, encodes, level) else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe ccurl_codec_free(handle) }

    /// Encodes or decodes until the input is used up, the output buffer is full, or an encoder has ended. Returns the number of bytes
    /// written to the output buffer. Output before a failure is returned first, and the next call throws the failure.
    func run(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, isLast: Bool = false
    ) throws(Failure) -> Int {
        if let failure { throw failure }
        var flow = unsafe ccurl_flow(
            in: input.baseAddress?.assumingMemoryBound(to: UInt8.self), in_left: input.count,
            out: room.baseAddress?.assumingMemoryBound(to: UInt8.self), out_left: room.count)
        var status = Int32(CCURL_CODEC_MORE)
        repeat {
            let before = unsafe (flow.in_left, flow.out_left)
            status = unsafe ccurl_codec_run(handle, &flow, isLast)
            // Every library makes progress if it has both input and room. Without this check, a library that does not would cause an
            // endless loop.
            if status == CCURL_CODEC_MORE, unsafe before == (flow.in_left, flow.out_left), before.1 > 0 {
                if isLast || before.0 > 0 { status = CCURL_CODEC_CORRUPT }
                break
            }
        } while unsafe status >= 0 && flow.out_left > 0
            && (isLast ? status != CCURL_CODEC_ENDED : flow.in_left > 0)
        isEnded = status == CCURL_CODEC_ENDED
        if status < 0 { failure = Failure(status) }
        unsafe input = UnsafeRawBufferPointer(start: flow.in, count: flow.in_left)
        mayHoldOutput = unsafe failure != nil || flow.out_left == 0
        let count = unsafe room.count - flow.out_left
        if count == 0, let failure { throw failure }
        return count
    }
}

extension Codec.Failure {
    fileprivate init(_ status: Int32) {
        switch status {
        case CCURL_CODEC_TRAILING: self = .trailingBytes
        case CCURL_CODEC_NO_MEMORY: self = .outOfMemory
        default: self = .corrupt
        }
    }
}
