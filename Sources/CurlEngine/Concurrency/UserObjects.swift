/// The release of objects that users hand over, whose `deinit`s are code of the user's.
package enum UserObjects {
    /// Lets objects be released on the pool if the calling thread is an engine's. Called by the `deinit` of their owner, with all that it
    /// owns.
    package static func release(_ objects: @autoclosure () -> [any Sendable]) {
        guard let executor = EngineThread.current else { return }
        executor.releaseOnPool(objects())
    }
}
