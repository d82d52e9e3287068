import CurlEngine
import Glibc

/// A flag that a blocked thread can poll for together with its socket; once raised it stays raised.
final class LoopbackEvent: Sendable {
    /// One end of a connection. Raising the flag closes the other end, which ends every poll, now and later.
    let descriptor: CInt
    private let writingEnd: Locked<CInt?>

    init() {
        let ends = LoopbackSocket.pair()
        precondition(ends != nil, "a gate needs two file descriptors, and the process has none left: raise its limit")
        (descriptor, writingEnd) = (ends?.0 ?? -1, Locked(ends?.1))
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
