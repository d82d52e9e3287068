import CurlEngine
import FoundationEssentials

/// A file as the chunks of a body. Read on the pool of the task that pulls, never on the engine thread.
enum FileChunks {
    /// Bytes in a chunk.
    static let chunkSize = 256 << 10

    /// The size of a regular, readable file.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``.
    static func size(ofFileAt path: String) throws(TrellisError) -> Int64 {
        do throws(FileReader.Failure) {
            return try FileReader.size(path: path)
        } catch {
            throw TrellisError(.bodyFailed(.file(path: path, why: error.why)))
        }
    }

    /// Sends the first `length` bytes of the file.
    static func send(fileAt path: String, length: Int64, _ send: @Sendable (Data) async throws -> Void) async throws {
        var left = length
        do {
            var reader = try FileReader(path: path)
            while left > 0 {
                let chunk = try reader.read(atMost: Int(min(Int64(chunkSize), left)))
                guard !chunk.isEmpty else { throw FileReader.Failure(why: "it became shorter while it was sent") }
                left -= Int64(chunk.count)
                try await send(chunk)
            }
        } catch let failure as FileReader.Failure {
            throw TrellisError(.bodyFailed(.file(path: path, why: failure.why)))
        }
    }
}
