import CCurl

/// What the calling thread is.
package enum CallingThread {
    /// The thread of some engine: a task that prefers the executor of a session brings the code of every actor there. What
    /// blocks must go elsewhere.
    package static var isEngine: Bool { unsafe ccurl_thread_tag() != nil }
}
