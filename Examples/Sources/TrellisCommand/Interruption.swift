import Dispatch
import Glibc
import Synchronization

/// The handler of Ctrl-C. The first one cancels the task tree. The second one, or five seconds without an end, ends the process.
final class Interruption: Sendable {
    private let flag = Atomic(false)

    /// Whether Ctrl-C was pressed.
    var hasHappened: Bool { flag.load(ordering: .acquiring) }

    /// Catches Ctrl-C from now on, even before ``whenItHappens(_:)``.
    init() {
        guard Self.ends.write >= 0 else { return }
        // A signal handler may do little more than write a byte, for which a thread waits.
        signal(SIGINT) { _ in
            var byte: UInt8 = 0
            _ = Glibc.write(Interruption.ends.write, &byte, 1)
        }
    }

    /// Calls `action` at the first Ctrl-C.
    func whenItHappens(_ action: @escaping @Sendable () -> Void) {
        let read = Self.ends.read
        guard read >= 0 else { return }
        DispatchQueue(label: "trellis.interruption").async { [self] in
            Self.waitForByte(at: read, milliseconds: -1)
            flag.store(true, ordering: .releasing)
            action()
            // Some operations do not end with their task, such as a write to a pipe without a reader.
            Self.waitForByte(at: read, milliseconds: 5000)
            _exit(ExitStatus.interrupted)
        }
    }

    /// The pipe from the signal handler to the thread.
    private static let ends: (read: CInt, write: CInt) = {
        var ends: [CInt] = [-1, -1]
        _ = pipe(&ends)
        return (ends[0], ends[1])
    }()

    private static func waitForByte(at descriptor: CInt, milliseconds: CInt) {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&polled, 1, milliseconds) < 0, errno == EINTR {}
        var byte: UInt8 = 0
        if polled.revents != 0 { _ = read(descriptor, &byte, 1) }
    }
}
