import CCurl

/// The observer of an engine's connections. Its functions are called on the engine thread: they are short, and call no code of the user's.
package protocol ConnectionObserver: AnyObject, Sendable {
    /// Begins the observation of a connection that was made, TLS included, and is in use.
    ///
    /// - Parameter url: The URL of the request that the connection was made for.
    func begin(_ url: String) -> any ConnectionObservation
}

/// The observation of one connection. The connection is closed when the observation is released, at the latest.
package protocol ConnectionObservation: AnyObject, Sendable {
    /// Handles the change between a connection in use and an idle one.
    func change(isIdle: Bool)
    /// Handles the end of the connection. May be called several times.
    func end()
}
