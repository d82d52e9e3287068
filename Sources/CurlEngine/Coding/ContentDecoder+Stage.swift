private import Glibc

/// One of the codings of a body, with what the coding around it has given.
@safe
final class DecoderStage {
    static let bufferSize = 16 << 10

    let coding: ContentCoding
    let codec: Codec
    /// Decoded by the coding around this one; empty for the outermost.
    let buffer: UnsafeMutableRawBufferPointer
    /// Bytes that the coding around this one has given in all.
    var takenBytes = 0
    /// What is left to read in it.
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

    func run(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(ContentDecoder.Failure) -> Int {
        // Zstandard takes repeated calls without input for a mistake.
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
