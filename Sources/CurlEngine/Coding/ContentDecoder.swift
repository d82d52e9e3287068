private import Glibc

/// A decoder that takes the content codings off a body, chunk by chunk, in pieces of bounded size.
///
/// Memory is bounded for every body: the libraries' windows (32 KiB, 16 MiB and 8 MiB at most for zlib, brotli and zstd), a
/// piece, and input that is held while the reader of the pieces has stopped.
@safe
package final class ContentDecoder {
    /// The reasons why a body does not decode.
    package enum Failure: Error, Hashable, Sendable {
        /// A body that does not follow its coding.
        case corrupt(ContentCoding)
        /// A body that ends before its coded stream does.
        case cutShort(ContentCoding)
        /// A body with bytes after the end of the coded stream.
        case trailingBytes(ContentCoding)
        /// A coded stream that is far larger than its content.
        case swollen(ContentCoding)
        case outOfMemory
    }

    /// The largest size of a piece in bytes.
    package static let pieceSize = 64 << 10
    /// The largest number of codings, one around the other; more of them count as an attack.
    package static let maximumCodings = 5
    /// The number of bytes that may pass from one coding to the next: `bytes`, and `perByte` for each byte of output. A body
    /// needs about one byte for each byte of output; a megabyte of empty members, which the coding around them makes of a few
    /// bytes, costs only work.
    static let maximumPassage = (bytes: 4 << 20, perByte: 4)

    /// The stages in the order of decoding: the outermost coding, which was applied last, comes first.
    private let stages: [DecoderStage]
    /// The buffer for a piece.
    private let piece: UnsafeMutableRawBufferPointer
    /// The failure that every later call throws.
    private var failure: Failure?
    /// The input that is kept while the reader of the pieces has stopped.
    private var held: [UInt8] = []
    /// Indicates whether the body has had any byte.
    private var hasInput = false
    /// The number of bytes put out by the last stage.
    private var givenBytes = 0
    /// Indicates whether the reader of the pieces has stopped; ``resume(into:)`` goes on.
    package private(set) var isHeldUp = false

    /// Creates a decoder of bodies with these codings, in the order of `Content-Encoding`: as they were applied.
    ///
    /// - Returns: `nil` if there are too many codings, or one is unknown or its library is missing. `identity` is left out; a
    ///   decoder without any coding passes everything on.
    package init?(codings: [String]) {
        let names = codings.filter { $0.lowercased() != "identity" }
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
    /// - Parameter take: Receives a piece. If `take` returns `false`, that piece was the last for now: the rest is kept for
    ///   ``resume(into:)``, and bytes that come before that call are kept with the rest.
    /// - Throws: A ``Failure``, when all output before the failure has been delivered. Every later call throws the same.
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

    /// Goes on decoding after `take` has returned `false`.
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

    /// Checks that the body was complete when it has ended. Must not be called while ``isHeldUp``, where the end is not in sight:
    /// that is an error too.
    ///
    /// A body without a byte is complete: such bodies come with responses that cannot have one.
    ///
    /// - Throws: ``Failure/cutShort(_:)`` if the coded stream goes on; the failure that decoding has thrown.
    package func finish() throws(Failure) {
        if let failure { throw failure }
        guard hasInput else { return }
        for stage in stages where isHeldUp || !stage.codec.isEnded { throw .cutShort(stage.coding) }
    }

    /// Decodes until the input is used up or `take` returns `false`; returns the input that is left.
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
