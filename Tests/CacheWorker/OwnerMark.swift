import CurlEngine
import Glibc
import Trellis

/// A second lock, which the owner of a folder takes after the storage's own: two processes that both own the folder meet there.
///
/// A process that is about to end, or to give the ownership away, says so in the file of the lock, because the system releases the two locks
/// of a process that was killed in any order.
final class OwnerMark: Sendable {
    private struct State {
        var isHeld = false
        /// The number of calls under way that give the ownership away, of several tasks.
        var leavingCount = 0
    }

    private static let present = UInt8(ascii: "p")
    private static let leaving = UInt8(ascii: "l")

    private let descriptor: CInt
    private let state = Locked(State())

    init?(_ path: String) {
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { return nil }
    }

    /// Ends the process if another one owns the folder that this process owns.
    func check(_ storage: DiskCacheStorage) {
        // A process that gives the ownership away may be delayed before it gives the lock back.
        for _ in 0..<60_000 {
            let isOver = state.withLock { state in
                // A process that leaves need not look.
                if state.leavingCount > 0 || state.isHeld || !storage.isOwner { return true }
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
                state.isHeld = true
                write(Self.present)
                return true
            }
            if isOver { return }
            if mark == Self.present { Self.stop("two processes own the folder", 4) }
            usleep(1000)
        }
        Self.stop("the lock of a process that has ended is held", 4)
    }

    /// Kills this process.
    func die() {
        state.withLock { state in
            state.leavingCount += 1
            if state.isHeld { write(Self.leaving) }
        }
        kill(getpid(), SIGKILL)
        // The signal ends the process at the latest when this thread would run on.
        while true { pause() }
    }

    /// Calls `body`, which gives the ownership away.
    func leaving(_ body: () async -> Void) async {
        state.withLock { state in
            state.leavingCount += 1
            if state.isHeld { write(Self.leaving) }
        }
        await body()
        state.withLock { state in
            state.leavingCount -= 1
            state.isHeld = false
            flock(descriptor, LOCK_UN)
        }
    }

    private func write(_ byte: UInt8) {
        var byte = byte
        _ = unsafe pwrite(descriptor, &byte, 1, 0)
    }

    private var mark: UInt8 {
        var byte = UInt8(0)
        _ = unsafe pread(descriptor, &byte, 1, 0)
        return byte
    }

    /// Ends the process with a message.
    static func stop(_ text: String, _ status: CInt) -> Never {
        let line = text + "\n"
        _ = unsafe line.withCString { unsafe Glibc.write(1, $0, line.utf8.count) }
        _exit(status)
    }
}
