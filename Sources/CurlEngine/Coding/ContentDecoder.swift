private import Glibc

/// A decoder that removes the content codings of a body, chunk by chunk, in pieces of bounded size.
///
/// Memory is bounded for every body: the libraries' windows (at most 32 KiB, 16 MiB and 8 MiB for zlib, brotli and zstd), one piece, and
/// the input that is kept while the reader of the pieces has stopped.
@safe
package final class ContentDecoder {
    /// The reasons why a body cannot be decoded.
    package enum Failure: Error, Hashable, Sendable {
        /// The body does not conform to its coding.
        case corrupt(ContentCoding)
        /// The body ends before its coded stream does.
        case cutShort(ContentCoding)
        /// The body has bytes after the end of the coded stream.
        case trailingBytes(ContentCoding)
        /// The coded stream is far larger than its content.
        case swollen(ContentCoding)
        /// Memory has run out.
        case outOfMemory

        /// The failure in words.
        package var message: String {
            switch self {
            case .corrupt(let coding): "the body is not valid \(coding.rawValue)"
            case .cutShort(let coding): "the body ends before its \(coding.rawValue) stream does"
            case .trailingBytes(let coding): "bytes follow the end of the \(coding.rawValue) stream"
            case .swollen(let coding): "the body's \(coding.rawValue) stream is far larger than its content"
            case .outOfMemory: "out of memory while decoding the body"
            }
        }
    }

    /// The largest size of a piece in bytes.
    package static let pieceSize = 64 << 10
    /// The largest number of nested codings. A larger number is treated as an attack.
    package static let maximumCodings = 5
    /// The number of bytes that may pass from one coding to the next: `bytes`, and `perByte` for each byte of output. A body needs about
    /// one byte for each byte of output. A megabyte of empty members, which the coding around them can produce from a few bytes, only
    /// consumes processor time.
    static let maximumPassage = (bytes: 4 << 20, perByte: 4)

    /// The stages in the order of decoding. The outermost coding, which was applied last, is first.
    private let stages: [DecoderStage]
    /// The buffer for a piece.
    private let piece: UnsafeMutableRawBufferPointer
    /// The failure that every later call throws.
    private var failure: Failure?
    /// The input that is kept while the reader of the pieces has stopped.
    private var held: [UInt8] = []
    /// Whether the body has had any bytes.
    private var hasInput = false
    /// The number of bytes that the last stage has produced.
    private var givenBytes = 0
    /// Whether the reader of the pieces has stopped, so that ``resume(into:)`` must continue.
    package private(set) var isHeldUp = false

    /// Creates a decoder for bodies with these codings, in the order of `Content-Encoding`, which is the order in which they were applied.
    ///
    /// - Returns: `nil` if there are too many codings, or one is unknown, or its library is missing. `identity` is ignored; a decoder
    ///   without any coding returns its input.
    package init?(codings: [String]) {
        let names = codings.filter { $0.lowercasedASCII() != "identity" }
        guard names.count <= Self.maximumCodings else { return nil }
        var stages: [DecoderStage] = []
        for name in names.reversed() {
            guard let coding = ContentCoding(name: name), let stage = DecoderStage(coding, isFirst: stages.isEmpty)
            else { return nil }
            stages.append(stage)
        }
        guard let memory = unsafe malloc(Self.pieceSize) else { return nil }
        self.stages = stages
        unsafe piece = UnsafeMutableRawBufferPointer(start: memory, count: Self.pieceSize)
    }

    deinit { unsafe free(piece.baseAddress) }

    /// Decodes the next bytes and delivers the output in pieces.
    ///
    /// - Parameter take: Receives a piece. If `take` returns `false`, no more pieces are delivered: the rest is kept for ``resume(into:)``,
    ///   together with the bytes that arrive before that call.
    /// - Throws: A ``Failure``, after all output before the failure was delivered. Every later call throws the same failure.
    package func decode(_ bytes: RawSpan, into take: (RawSpan) -> Bool) throws(Failure) {
        if let failure { throw failure }
        guard !bytes.isEmpty else { return }
        hasInput = true
        if isHeldUp { return held.append(contentsOf: [UInt8](copying: bytes)) }
        if stages.isEmpty {
            isHeldUp = !take(bytes)
            return
        }
        let result = unsafe bytes.withUnsafeBytes { bytes -> Result<[UInt8], Failure> in
            unsafe run(bytes, take)
        }
        held = try result.get()
    }

    /// Continues decoding after `take` has returned `false`.
    package func resume(into take: (RawSpan) -> Bool) throws(Failure) {
        guard isHeldUp else { return }
        isHeldUp = false
        let input = held
        held = []
        if stages.isEmpty {
            if !input.isEmpty { isHeldUp = !input.withBytes(take) }
            return
        }
        if let failure { throw failure }
        let result = unsafe input.withUnsafeBytes { bytes in unsafe run(bytes, take) }
        held = try result.get()
    }

    /// Checks that the body was complete when it ended. Must not be called while ``isHeldUp``: the end of the body is not known then, which
    /// is an error too.
    ///
    /// A body without bytes is complete, because responses that cannot have a body have such a body.
    ///
    /// - Throws: ``Failure/cutShort(_:)`` if the coded stream is not complete; the failure that decoding has thrown.
    package func finish() throws(Failure) {
        if let failure { throw failure }
        guard hasInput else { return }
        for stage in stages where isHeldUp || !stage.codec.isEnded { throw .cutShort(stage.coding) }
    }

    /// Decodes until the input is used up or `take` returns `false`. Returns the remaining input.
    private func run(_ bytes: UnsafeRawBufferPointer, _ take: (RawSpan) -> Bool) -> Result<[UInt8], Failure> {
        var input = unsafe bytes
        do throws(Failure) {
            while true {
                let count = try unsafe fill(piece, by: stages.count - 1, from: &input)
                guard count > 0 else { return .success([]) }
                givenBytes += count
                if unsafe take(UnsafeRawBufferPointer(rebasing: piece[..<count]).bytes) { continue }
                isHeldUp = true
                return unsafe .success([UInt8](input))
            }
        } catch {
            failure = error
            return .failure(error)
        }
    }

    /// Fills `room` with the output of a stage; returns 0 if there is no more input.
    private func fill(
        _ room: UnsafeMutableRawBufferPointer, by index: Int, from input: inout UnsafeRawBufferPointer
    ) throws(Failure) -> Int {
        let stage = stages[index]
        guard index > 0 else { return try unsafe stage.run(&input, into: room) }
        while true {
            let count = try unsafe stage.run(&stage.pending, into: room)
            if count > 0 { return count }
            let more = try unsafe fill(stage.buffer, by: index - 1, from: &input)
            if more == 0 { return 0 }
            stage.takenBytes += more
            guard stage.takenBytes <= Self.maximumPassage.bytes + Self.maximumPassage.perByte * givenBytes else {
                throw .swollen(stage.coding)
            }
            unsafe stage.pending = UnsafeRawBufferPointer(rebasing: stage.buffer[..<more])
        }
    }
}
