import CurlEngine
import Glibc

/// A flag that a blocked thread can poll for together with its socket; once raised it stays raised.
final class LoopbackEvent: Sendable {
    /// The reading end of a pipe. Raising the flag closes the writing end, which ends every poll, now and later.
    let descriptor: CInt
    private let writingEnd: Locked<CInt?>

    init() {
        var ends: [CInt] = [-1, -1]
        let status = unsafe pipe(&ends)
        precondition(status == 0, "a gate needs a pipe, and the process has no file descriptors left: raise its limit")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        descriptor = ends[0]
        writingEnd = Locked(ends[1])
    }

    deinit {
        raise()
        _ = Glibc.close(descriptor)
    }

    func raise() {
        writingEnd.withLock { end in
            if let open = end { _ = Glibc.close(open) }
            end = nil
        }
    }
}
