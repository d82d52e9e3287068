import FoundationEssentials

/// Computes the digest of a file while it comes. What did not pass by, or came in another order, is read from the file.
struct DownloadDigests {
    private(set) var checksum: Checksum?
    private var function: (any DigestFunction)?
    /// What has been computed ends here.
    private var position: Int64 = 0

    init(_ checksum: Checksum?) { self.checksum = checksum }

    /// The file begins anew.
    mutating func restart(_ checksum: Checksum?) { self = DownloadDigests(checksum) }

    /// Bytes have been written.
    mutating func take(_ bytes: Data, at offset: Int64) {
        guard let checksum, offset == position else { return }
        var function = self.function ?? checksum.makeDigest()
        self.function = nil
        function?.update(bytes)
        self.function = function
        position += Int64(bytes.count)
    }

    /// Reads what has not passed by.
    mutating func catchUp(with file: DownloadFile, to end: Int64) async throws {
        guard checksum != nil else { return }
        while position < end {
            try Task.checkCancellation()
            let bytes = try file.read(at: position)
            guard !bytes.isEmpty else { return }
            take(bytes.prefix(Int(clamping: end - position)), at: position)
            // Others want to run too.
            await Task.yield()
        }
    }

    /// Why the file is not the one that was expected; `nil`: it is.
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
