/// A hook with which a test observes file operations in their order, and lets any of them fail or wait. Only tests set the hook.
package enum FileOperationHook {
    /// An operation on files.
    package enum Operation: Hashable, Sendable {
        /// A write of bytes.
        case write(path: String, Range<Int64>)
        /// A synchronization, which brings everything written up to now to the disk.
        case synchronize(path: String)
        /// A rename, which replaces the file that had the new name.
        case rename(from: String, to: String)
        /// A removal of a name.
        case remove(path: String)
        /// A synchronization of the names in a folder, which brings them to the disk.
        case synchronizeFolder(path: String)
        /// An opening of a ``RandomAccessFile``, which may create it, or of another file for reading.
        case open(path: String)
        /// A read of bytes of a ``RandomAccessFile`` or a ``FileReader``.
        case read(path: String, Range<Int64>)
        /// The closing of a ``RandomAccessFile``, which cannot fail.
        case close(path: String)
        /// A listing of the files in a folder.
        case list(path: String)
        /// An attempt to take a ``FileLock``, or to lock a new ``RandomAccessFile``.
        case lock(path: String)

        /// Whether the operation changes the bytes or the names of files, or brings changes to the disk.
        package var isChange: Bool {
            switch self {
            case .write, .synchronize, .rename, .remove, .synchronizeFolder: true
            case .open, .read, .close, .list, .lock: false
            }
        }
    }

    /// The moment at which the handler is called.
    package enum Moment: Hashable, Sendable { case before, after }

    /// A handler of operations, called on the thread of the operation, before and after each one. A failure that the handler
    /// returns before an operation stands for the failure of that operation.
    package typealias Handler = @Sendable (Operation, Moment) -> FileError?

    /// The handler of the current task, also for its work in the ``BlockingThreadPool``; `nil` outside of tests.
    @TaskLocal package static var handler: Handler?

    /// Runs `body`, an operation that a test may observe.
    static func watching<Value>(
        _ operation: @autoclosure () -> Operation, _ body: () throws(FileError) -> Value
    ) throws(FileError) -> Value {
        guard let handler else { return try body() }
        let operation = operation()
        if let failure = handler(operation, .before) { throw failure }
        let value = try body()
        _ = handler(operation, .after)
        return value
    }

    /// Runs `body`, an operation that a test may observe, and that cannot fail.
    static func watching(always operation: @autoclosure () -> Operation, _ body: () -> Void) {
        guard let handler else { return body() }
        let operation = operation()
        _ = handler(operation, .before)
        body()
        _ = handler(operation, .after)
    }
}
