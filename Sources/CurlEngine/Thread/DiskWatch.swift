/// Tells a test what is done to files, in its order, and lets it fail or hold up any of that. Nobody else sets it.
package enum DiskWatch {
    /// One thing that is done to a file.
    package enum Operation: Hashable, Sendable {
        /// Bytes are written.
        case write(path: String, Range<Int64>)
        /// What was written up to now goes to the disk.
        case synchronize(path: String)
        /// A file gets another name, in the place of what was there.
        case rename(from: String, to: String)
        /// A name goes.
        case remove(path: String)
        /// The names in a folder go to the disk.
        case synchronizeFolder(path: String)
    }

    /// When the handler is called.
    package enum Moment: Hashable, Sendable { case before, after }

    /// Called on the thread that does it, before and after each operation. What it returns before one stands for the failure of that.
    package typealias Handler = @Sendable (Operation, Moment) -> FileReader.Failure?

    @TaskLocal package static var handler: Handler?

    /// Does something that a test may want to know of.
    static func watching<Value>(
        _ operation: @autoclosure () -> Operation, _ body: () throws(FileReader.Failure) -> Value
    ) throws(FileReader.Failure) -> Value {
        guard let handler else { return try body() }
        let operation = operation()
        if let failure = handler(operation, .before) { throw failure }
        let value = try body()
        _ = handler(operation, .after)
        return value
    }
}
