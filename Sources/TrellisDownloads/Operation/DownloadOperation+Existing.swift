import CurlEngine
import HTTPTypes
import TrellisCore

/// The file that is at the destination before the download: see ``DownloadDestination/Options/keepIfItMatches``.
extension DownloadOperation {
    /// A file that was there before, and stays.
    struct ExistingFile: Hashable, Sendable {
        let path: String
        let size: Int64
    }

    /// Returns `true`, and uses the file at the destination as the result, if that file has the digest of the checksum and the
    /// options let it stay.
    ///
    /// - Parameter head: The response that led to the path; `nil` before any request.
    mutating func keepFile(at path: String, _ head: Response? = nil) async throws -> Bool {
        guard destination.options.contains(.keepIfItMatches), let checksum,
            (try? FileSystem.kind(at: path)) == .file
        else { return false }
        try await waitWhileSuspended()
        let target = WholeFile.target(of: path)
        let digest = try await checksum.fileDigest(at: target)
        guard digest.bytes == checksum.expected else { return false }
        run.progress.expect(digest.size)
        run.progress.jump(to: digest.size)
        accept(head ?? Response(head: ResponseHead(status: .notModified), url: request.url))
        existing = ExistingFile(path: target, size: digest.size)
        return true
    }
}
