private import Glibc

/// Takes the content codings off a body, chunk by chunk, in pieces of bounded size.
///
/// Memory is bounded whatever the body: the libraries' windows (32 KiB, 16 MiB and 8 MiB at most for zlib, brotli and
/// zstd), a piece, and input that is held while the reader of the pieces has stopped.
@safe
package final class ContentDecoder {
    /// Why a body does not decode.
    package enum Failure: Error, Hashable, Sendable {
        /// It is not what its coding says.
        case corrupt(ContentCoding)
        /// It ends before its coding does.
        case cutShort(ContentCoding)
        /// Bytes follow the end of the coded stream.
        case trailingBytes(ContentCoding)
        /// Far more bytes go into it than come out.
        case swollen(ContentCoding)
        case outOfMemory
    }

    /// Bytes in a piece at most.
    package static let pieceSize = 64 << 10
    /// More codings than this, one around the other, are taken for an attack.
    package static let maximumCodings = 5
    /// How many bytes may pass from one coding to the next: so many, and this many times what has come out at the end. A body
    /// needs about once that; nothing but work comes of a megabyte of empty members, which the coding around them makes of
    /// a few bytes.
    static let maximumPassage = (bytes: 4 << 20, perByte: 4)

    /// The outermost coding, which was applied last, first.
    private let stages: [DecoderStage]
    private let piece: UnsafeMutableRawBufferPointer
    private var failure: Failure?
    private var held: [UInt8] = []
    private var hasInput = false
    /// Bytes that have come out at the end.
    private var givenBytes = 0
    /// The reader of the pieces has stopped; ``resume(into:)`` goes on.
    package private(set) var isHeldUp = false

    /// A decoder of bodies with these codings, in the order of `Content-Encoding`: as they were applied.
    ///
    /// - Returns: `nil` if there are too many, or one is unknown or its library is missing. `identity` is left out; a
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

    /// Decodes the next bytes and hands on what comes of them.
    ///
    /// - Parameter take: Takes a piece. If it returns `false`, that piece was the last for now: the rest is kept for
    ///   ``resume(into:)``, and bytes that come before that are kept with it.
    /// - Throws: When all that came before the failure has been handed on. Every later call throws the same.
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

    /// Goes on after `take` has returned `false`.
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

    /// The body has ended. Not to be called while ``isHeldUp``, where the end is not in sight: that is an error too.
    ///
    /// A body without a byte is whole: such come with responses that cannot have one.
    ///
    /// - Throws: ``Failure/cutShort(_:)`` if the coded stream goes on; what decoding has thrown.
    package func finish() throws(Failure) {
        if let failure { throw failure }
        guard hasInput else { return }
        for stage in stages where isHeldUp || !stage.codec.isEnded { throw .cutShort(stage.coding) }
    }

    /// Decodes until the input is used up or the taker stops; returns the input that is left.
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

    /// Fills `room` with what a stage decodes; 0 if there is no more input.
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
