private import Glibc

/// The standard error stream of the process.
package enum StandardError {
    /// Writes a text. Short texts of several writers do not mix: each is one write of the system. A text that cannot be written
    /// is dropped.
    ///
    /// Waits for a reader that is slow, such as a terminal that was stopped or a full pipe: call this on the threads that may wait
    /// (``BlockingExecutor``).
    ///
    /// - Parameter descriptor: The file descriptor to write to; the standard error stream by default.
    package static func write(_ text: String, to descriptor: Int32 = 2) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                waitForRoom(descriptor)
            } else if count == 0 || errno != EINTR {
                return
            }
        }
    }

    /// Waits until a descriptor that does not block accepts bytes again.
    private static func waitForRoom(_ descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&entry, 1, -1)
    }
}
