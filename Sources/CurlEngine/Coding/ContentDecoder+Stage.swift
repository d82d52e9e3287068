private import Glibc

/// The decoder of one of the codings of a body, with the output of the coding around it.
@safe
final class DecoderStage {
    static let bufferSize = 16 << 10

    let coding: ContentCoding
    let codec: Codec
    /// The input of this decoder, which the decoder before it has produced; empty for the first decoder.
    let buffer: UnsafeMutableRawBufferPointer
    /// The total number of bytes that the coding around this one has produced.
    var takenBytes = 0
    /// The unread part of `buffer`.
    var pending = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    init?(_ coding: ContentCoding, isFirst: Bool) {
        guard let codec = Codec(coding, encodes: false) else { return nil }
        let size = isFirst ? 0 : Self.bufferSize
        let memory = unsafe malloc(size)
        guard unsafe isFirst || memory != nil else { return nil }
        self.coding = coding
        self.codec = codec
        unsafe buffer = UnsafeMutableRawBufferPointer(start: memory, count: size)
    }

    deinit { unsafe free(buffer.baseAddress) }

    /// Decodes `input` into `room`; returns the number of decoded bytes.
    func run(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(ContentDecoder.Failure) -> Int {
        // Zstandard treats repeated calls without input as an error.
        guard unsafe !input.isEmpty || codec.mayHoldOutput else { return 0 }
        do throws(Codec.Failure) {
            return try unsafe codec.run(&input, into: room)
        } catch {
            switch error {
            case .corrupt: throw .corrupt(coding)
            case .trailingBytes: throw .trailingBytes(coding)
            case .outOfMemory: throw .outOfMemory
            }
        }
    }
}
