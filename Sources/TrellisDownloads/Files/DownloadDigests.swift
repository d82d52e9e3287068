import FoundationEssentials
import TrellisCore

/// The digest of a file, computed while the file arrives. Bytes that arrived before or in another order are read from the file.
struct DownloadDigests {
    private(set) var checksum: Checksum?
    private var function: (any DigestFunction)?
    /// The position up to which the digest has been computed.
    private var position: Int64 = 0

    init(_ checksum: Checksum?) { self.checksum = checksum }

    /// Starts over with another expected digest.
    mutating func restart(_ checksum: Checksum?) { self = DownloadDigests(checksum) }

    /// Updates the digest with bytes that have been written. Bytes at any other position than the next one are ignored.
    mutating func take(_ bytes: Data, at offset: Int64) {
        guard let checksum, offset == position else { return }
        var function = self.function ?? checksum.makeDigest()
        self.function = nil
        function?.update(bytes)
        self.function = function
        position += Int64(bytes.count)
    }

    /// Reads the bytes up to `end` that the digest does not cover yet from the file.
    mutating func catchUp(with file: DownloadFile, to end: Int64) async throws {
        guard checksum != nil else { return }
        while position < end {
            try Task.checkCancellation()
            let bytes = try file.read(at: position)
            guard !bytes.isEmpty else { return }
            take(bytes.prefix(Int(clamping: end - position)), at: position)
            // Other tasks need the thread too.
            await Task.yield()
        }
    }

    /// Returns the error for a file whose digest is not the expected one; `nil` if it is.
    mutating func mismatch(_ file: DownloadFile, size: Int64) async throws -> TrellisError? {
        guard let checksum else { return nil }
        try await catchUp(with: file, to: size)
        var function = self.function ?? checksum.makeDigest()
        let found = function?.finish() ?? []
        guard found != checksum.expected else { return nil }
        return TrellisError(
            .downloadFailed(
                .checksum(
                    name: checksum.name, expected: Hexadecimal.text(checksum.expected),
                    found: Hexadecimal.text(found))))
    }
}
