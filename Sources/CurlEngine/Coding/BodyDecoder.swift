package import FoundationEssentials

/// The decoding of a body that its reader asks for piece by piece.
package final class BodyDecoder: @unchecked Sendable {
    // Unchecked: the one reader of a body makes one call at a time.
    private let decoder: ContentDecoder

    /// Creates a decoder for bodies with these codings, in the order of `Content-Encoding`.
    ///
    /// - Returns: `nil` if there are too many codings, or one is unknown, or its library is missing.
    package init?(codings: [String]) {
        guard let decoder = ContentDecoder(codings: codings) else { return nil }
        self.decoder = decoder
    }

    /// Returns a complete body without its codings; `nil` if it is larger than the limit.
    package func decoded(_ body: Data, limit: Int) throws(ContentDecoder.Failure) -> Data? {
        var result = Data()
        var isTooLarge = false
        try run(body) { piece in
            isTooLarge = piece.byteCount > limit - result.count
            if !isTooLarge { result.append(contentsOf: [UInt8](copying: piece)) }
            return !isTooLarge
        }
        if isTooLarge { return nil }
        try decoder.finish()
        return result
    }

    /// Decodes the next bytes, and returns the first piece of the result; `nil` if more bytes are needed for one.
    package func decode(_ bytes: Data) throws(ContentDecoder.Failure) -> Data? {
        var first: Data?
        try run(bytes) { piece in
            first = Data([UInt8](copying: piece))
            return false
        }
        return first
    }

    /// Returns the next piece of the bytes that were decoded last, if any.
    package func next() throws(ContentDecoder.Failure) -> Data? {
        var next: Data?
        try decoder.resume { piece in
            next = Data([UInt8](copying: piece))
            return false
        }
        return next
    }

    /// Checks that the body was complete.
    package func finish() throws(ContentDecoder.Failure) { try decoder.finish() }

    private func run(_ bytes: Data, _ take: (RawSpan) -> Bool) throws(ContentDecoder.Failure) {
        let result = unsafe bytes.withUnsafeBytes { bytes -> Result<Void, ContentDecoder.Failure> in
            do throws(ContentDecoder.Failure) {
                return .success(try unsafe decoder.decode(bytes.bytes, into: take))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}
