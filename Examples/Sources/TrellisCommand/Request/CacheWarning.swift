import Glibc
import Synchronization
import TerminalKit
import Trellis

/// The warning that a folder cannot be used as a cache: a line on standard error, at most once in a run.
final class CacheWarning: EventMonitor {
    /// The detail with the failures of the cache.
    let eventDetail = EventDetail.calls
    private let directory: String
    private let isPrinted = Atomic(false)

    /// - Parameter directory: The path of the folder.
    init(directory: String) { self.directory = directory }

    /// Creates the folder if it is missing, and prints the warning if that is not possible, or nothing can be written in it.
    func check() {
        if let reason = Self.makeFolder(directory) { tell("the cache in \(directory) cannot be used: \(reason)") }
    }

    /// Prints the warning at a failure that is found later, for example because the disk is full.
    func handle(_ event: RequestEvent) async {
        guard case .cacheFailed(let error) = event.kind else { return }
        let reason = (error as? FileFailure)?.reason ?? "\(error)"
        tell("the cache in \(directory) cannot be used: \(reason)")
    }

    private func tell(_ text: String) {
        guard !isPrinted.exchange(true, ordering: .relaxed) else { return }
        Terminal.error.print(Terminal.error.styled("trellis: ", .magenta) + text)
    }

    /// Creates a folder, and the folders that lead to it, as the storage does. Returns the reason why it cannot be used; `nil` if it can.
    private static func makeFolder(_ path: String, _ permissions: mode_t = 0o700) -> String? {
        if mkdir(path, permissions) == 0 { return nil }
        var code = errno
        if code == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex {
            if let reason = makeFolder(String(path[..<slash]), 0o777) { return reason }
            if mkdir(path, permissions) == 0 { return nil }
            code = errno
        }
        var status = stat()
        if code == EEXIST, stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else { return text(of: ENOTDIR) }
            return access(path, W_OK | X_OK) == 0 ? nil : text(of: errno)
        }
        return text(of: code)
    }

    private static func text(of code: CInt) -> String { String(cString: strerror(code)) }
}
