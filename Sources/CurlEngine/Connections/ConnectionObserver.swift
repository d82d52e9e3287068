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

/// The connections of an engine that are observed. Nothing is kept without an observer.
struct ObservedConnections {
    private struct Entry {
        let observation: any ConnectionObservation
        var isIdle = false
    }

    private let observer: (any ConnectionObserver)?
    /// The connections by their descriptors, which are small numbers.
    private var entries: [Entry?] = []
    /// The open sockets of connections that are being made, by the easy handle. Several addresses may be tried for one connection.
    private var openings: [ObjectIdentifier: [Int32]] = [:]
    /// The easy handles of these sockets.
    private var openers: [Int32: ObjectIdentifier] = [:]

    init(_ observer: (any ConnectionObserver)? = nil) { self.observer = observer }

    /// Records that libcurl has opened a socket for an easy handle.
    mutating func didOpen(_ descriptor: Int32, for user: ObjectIdentifier) {
        guard observer != nil else { return }
        openings[user, default: []].append(descriptor)
        openers[descriptor] = user
    }

    /// Records that the connection of an easy handle was made.
    ///
    /// - Parameters:
    ///   - port: The local port of the connection; 0 or less if it has none.
    ///   - url: The URL of the request.
    mutating func didConnect(_ user: ObjectIdentifier, from port: Int32, to url: String) {
        guard let observer, let sockets = openings.removeValue(forKey: user) else { return }
        for descriptor in sockets { openers[descriptor] = nil }
        let found = port > 0 ? sockets.last { ccurl_socket_port($0) == port } : sockets.last
        guard let found, found >= 0 else { return }
        while entries.count <= Int(found) { entries.append(nil) }
        entries[Int(found)] = Entry(observation: observer.begin(url))
    }

    /// Records that a connection is idle, or in use.
    mutating func set(_ descriptor: Int32, isIdle: Bool) {
        let index = Int(descriptor)
        guard entries.indices.contains(index), let entry = entries[index], entry.isIdle != isIdle else { return }
        entries[index]?.isIdle = isIdle
        entry.observation.change(isIdle: isIdle)
    }

    /// Records that a socket is about to be closed, or was shut down.
    mutating func end(_ descriptor: Int32) {
        guard observer != nil else { return }
        let index = Int(descriptor)
        if entries.indices.contains(index), let entry = entries[index].take() { entry.observation.end() }
        guard let user = openers.removeValue(forKey: descriptor) else { return }
        openings[user]?.removeAll { $0 == descriptor }
        if openings[user]?.isEmpty == true { openings[user] = nil }
    }
}

extension CurlEngine {
    /// Tells the observer of the connection that was made for a transfer.
    func didMakeConnection(for transfer: Transfer) {
        guard configuration.connectionObserver != nil, let multi, let easy = transfer.easy else { return }
        unsafe multi.sockets.observed.didConnect(
            ObjectIdentifier(easy), from: transfer.connection.localPort, to: transfer.options.url.text)
    }
}
