import CurlEngine
import FoundationEssentials
import TrellisCore

/// The digest of a file on the disk, and the size of the file.
struct FileDigest: Hashable, Sendable {
    /// The bytes of the digest.
    let bytes: [UInt8]
    /// The size in bytes.
    let size: Int64

    /// Computes the digest of a file on a thread that may wait for a disk.
    ///
    /// - Parameter name: The name of the digest in messages.
    /// - Throws: ``TrellisError`` if the file cannot be read, or the process cannot compute the digest; `CancellationError` in a
    ///   cancelled task, without waiting for the disk.
    static func compute(
        _ makeDigest: @escaping @Sendable () -> (any DigestFunction)?, named name: String, ofFileAt path: String
    ) async throws -> FileDigest {
        try Task.checkCancellation()
        let isCancelled = Locked(false)
        do {
            return try await withTaskCancellationHandler {
                try await BlockingThreadPool.tryingUnlessCancelled(at: FileSystem.folder(of: path)) {
                    try read(path, with: makeDigest, named: name, unless: isCancelled)
                }
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
        } catch let failure as FileError {
            throw TrellisError(.downloadFailed(.unreadable(path: path, reason: failure.reason)))
        }
    }

    private static func read(
        _ path: String, with makeDigest: () -> (any DigestFunction)?, named name: String,
        unless isCancelled: Locked<Bool>
    ) throws -> FileDigest {
        guard var function = makeDigest() else { throw TrellisError(.unsupported(name)) }
        let size = try FileReader.size(path: path)
        let reader = try FileReader(path: path, length: size)
        var offset: Int64 = 0
        while offset < size {
            if isCancelled.withLock({ $0 }) { throw CancellationError() }
            let bytes = try reader.read(atMost: 1 << 20, at: offset)
            function.update(bytes)
            offset += Int64(bytes.count)
        }
        let digest = function.finish()
        // A failure of the library results in an empty digest.
        guard !digest.isEmpty else { throw TrellisError(.unsupported(name)) }
        return FileDigest(bytes: digest, size: size)
    }
}
