import Dispatch
import Glibc
import Synchronization

/// Ctrl-C. The first one cancels the task tree; the second one, or two seconds without an end, ends the process.
final class Interruption: Sendable {
    private let flag = Atomic(false)

    /// Blocks the signal in this thread and in all that it starts, so that it waits until it is asked for.
    init() {
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Whether Ctrl-C was pressed.
    var hasHappened: Bool { flag.load(ordering: .acquiring) }

    /// Calls `action` at the first Ctrl-C.
    func whenItHappens(_ action: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "trellis.interruption").async { [self] in
            var signals = Self.signals
            var signal: CInt = 0
            sigwait(&signals, &signal)
            flag.store(true, ordering: .releasing)
            action()
            // Something that does not end with its task, such as a write to a pipe that nobody reads.
            var patience = timespec(tv_sec: 2, tv_nsec: 0)
            _ = sigtimedwait(&signals, nil, &patience)
            _exit(ExitStatus.interrupted)
        }
    }

    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        return signals
    }
}
