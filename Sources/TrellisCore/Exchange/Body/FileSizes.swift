import CurlEngine
import Synchronization

/// The sizes of the files of a body, read on a thread that may block on a disk: the cooperative pool and the engine thread must not block.
package struct FileSizes: Sendable {
    private let sizes: [String: Result<Int64, TrellisError>]

    /// Reads the size of each file once. For a file that cannot be sent, the subscript throws the error.
    ///
    /// - Throws: `CancellationError` in a cancelled task, without waiting for the disk.
    init(of body: RequestBody?) async throws {
        var paths: Set<String> = []
        body?.source.insertPaths(into: &paths)
        let found = paths
        let place = found.first.map { FileSystem.folder(of: $0) }
        sizes = try await BlockingThreadPool.runUnlessCancelled(at: place) {
            var sizes: [String: Result<Int64, TrellisError>] = [:]
            for path in found {
                do throws(TrellisError) {
                    sizes[path] = .success(try FileChunks.size(ofFileAt: path))
                } catch {
                    sizes[path] = .failure(error)
                }
            }
            return sizes
        }
    }

    /// The size of a file in bytes; `nil` if the file is not part of the body.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``.
    subscript(path: String) -> Int64? {
        get throws(TrellisError) { try sizes[path]?.get() }
    }
}

extension Request {
    /// Whether the size of a file must be read from a disk before the body can be sent.
    var hasFiles: Bool { body?.source.hasFiles ?? false }

    /// Whether the body is a form. The types of its parts are found in the system's tables, which only a thread that may block
    /// reads.
    var isForm: Bool { if case .multipart? = body?.source { true } else { false } }

    /// Whether the request is sent only after a disk was read, which may be slow.
    var waitsForDisk: Bool { hasFiles || isForm && !MIMETypes.isLoaded.load(ordering: .relaxed) }
}

extension RequestBody.Source {
    /// Whether the body is a file or a form that contains a file.
    var hasFiles: Bool {
        switch self {
        case .data, .stream: false
        case .file: true
        case .multipart(let form): form.parts.contains { $0.body.source.hasFiles }
        }
    }

    fileprivate func insertPaths(into paths: inout Set<String>) {
        switch self {
        case .data, .stream: break
        case .file(let path): paths.insert(path)
        case .multipart(let form): for part in form.parts { part.body.source.insertPaths(into: &paths) }
        }
    }
}
