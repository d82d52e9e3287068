import CCurl

/// The thread that calls.
package enum CallingThread {
    /// Indicates whether the calling thread is that of an engine: a task that prefers the executor of a session brings the code
    /// of every actor there. Blocking work must go elsewhere.
    package static var isEngine: Bool { unsafe ccurl_thread_tag() != nil }
}
