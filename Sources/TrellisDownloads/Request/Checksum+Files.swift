public import TrellisCore

/// Checksums of files on the disk. A file is read on a thread for that purpose: neither the caller's thread nor the engine's waits.
extension Checksum {
    /// Returns the SHA-256 checksum of a file.
    ///
    /// ```swift
    /// print(try await Checksum.sha256(ofFileAt: "image.iso"))  // sha256:9f86d081…
    /// ```
    ///
    /// - Parameter path: The path of a regular file.
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/file`` if the file cannot be read; `CancellationError` in a cancelled
    ///   task.
    public static func sha256(ofFileAt path: some FilePathConvertible) async throws -> Checksum {
        try await checksum(.sha256, ofFileAt: path.filePath)
    }

    /// Returns the SHA-512 checksum of a file.
    ///
    /// - Parameter path: The path of a regular file.
    /// - Throws: The errors of ``sha256(ofFileAt:)``.
    public static func sha512(ofFileAt path: some FilePathConvertible) async throws -> Checksum {
        try await checksum(.sha512, ofFileAt: path.filePath)
    }

    /// Returns `true` if a file has the digest of the checksum.
    ///
    /// - Parameter path: The path of a regular file.
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/file`` if the file cannot be read, and of kind
    ///   ``TrellisError/Kind/invalidRequest`` if the checksum itself is invalid; `CancellationError` in a cancelled task.
    public func matches(fileAt path: some FilePathConvertible) async throws -> Bool {
        if let problem = problem() { throw problem }
        return try await fileDigest(at: path.filePath).bytes == expected
    }

    private static func checksum(_ algorithm: Algorithm, ofFileAt path: String) async throws -> Checksum {
        let digest = try await Checksum(algorithm, [UInt8]()).fileDigest(at: path)
        return Checksum(algorithm, digest.bytes)
    }

    /// Computes the digest that a file has, whichever the expected one is.
    func fileDigest(at path: String) async throws -> FileDigest {
        try await FileDigest.compute(makeDigest, named: name, ofFileAt: path)
    }
}

extension Checksum: CustomStringConvertible {
    /// The name of the digest and its hexadecimal digits: `sha256:…`, which ``init(_:)`` parses.
    public var description: String { "\(name):\(Hexadecimal.text(expected))" }
}
