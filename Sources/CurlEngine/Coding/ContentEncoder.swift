package import FoundationEssentials
private import Glibc

/// An encoder that applies a content coding to a body, chunk by chunk.
@safe
package final class ContentEncoder {
    /// The failure of a library because memory has run out.
    package struct Failure: Error, Hashable, Sendable {}

    private let codec: Codec
    /// The buffer for encoded bytes.
    private let room: UnsafeMutableRawBufferPointer

    /// Creates an encoder.
    ///
    /// - Parameter level: The effort, clamped to ``ContentCoding/levels``; `nil` selects the coding's default.
    /// - Returns: `nil` if the library is missing.
    package init?(_ coding: ContentCoding, level: Int? = nil) {
        let level = level.map { Int32(min(max($0, coding.levels.lowerBound), coding.levels.upperBound)) }
        guard let codec = Codec(coding, encodes: true, level: level ?? coding.defaultLevel),
            let memory = unsafe malloc(ContentDecoder.pieceSize)
        else { return nil }
        self.codec = codec
        unsafe room = UnsafeMutableRawBufferPointer(start: memory, count: ContentDecoder.pieceSize)
    }

    deinit { unsafe free(room.baseAddress) }

    /// Encodes the next bytes. The result may be empty, because encoders look ahead.
    ///
    /// - Parameter isLast: Whether these are the last bytes. The result is then the rest of the encoded body, and the encoder
    ///   must not be called again.
    package func encode(_ data: Data, isLast: Bool = false) throws(Failure) -> Data {
        var result = ByteAccumulator()
        let isDone = unsafe data.withUnsafeBytes { bytes in
            var input = unsafe bytes
            while let count = try? unsafe codec.run(&input, into: room, isLast: isLast) {
                let isKept = unsafe result.append(UnsafeRawBufferPointer(rebasing: room[..<count]).bytes)
                guard isKept else { return false }
                if isLast ? codec.isEnded : unsafe input.isEmpty && !codec.mayHoldOutput { return true }
            }
            return false
        }
        guard isDone else { throw Failure() }
        return result.take()
    }
}
