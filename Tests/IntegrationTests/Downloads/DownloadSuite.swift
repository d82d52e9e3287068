import Foundation
import Trellis

/// A suite whose tests download the file of a server to `a.bin` in a folder of their own.
protocol DownloadSuite {
    /// The file of most tests.
    static var content: Data { get }
    var folder: Folder { get }
    var session: Session { get }
}

extension DownloadSuite {
    func download(_ server: FileServer, options: DownloadOptions = DownloadOptions()) -> DownloadRequest {
        session.downloadRequest(server.url, to: .file(folder("a.bin")), options: options)
    }

    /// Returns whether the folder holds the complete file and nothing else.
    func isWhole(_ content: Data = Self.content) -> Bool {
        folder.data("a.bin") == content && folder.names == ["a.bin"]
    }
}
