import CurlEngine

/// A resolver that asks a server in a separate session, as the core and the features beside it see it.
package protocol ServerResolver: NameResolver {
    /// The URL of the server.
    var url: String { get }
    /// The sessions that share the resolver, if its maker does not end it: the service of the last one does.
    var users: ResolverUsers? { get }

    /// Ends the resolver's own session.
    func shutdown() async
}

/// The sessions that share a resolver.
package final class ResolverUsers: Sendable {
    private let sessions = Locked<Set<ObjectIdentifier>>([])

    /// Creates an empty list.
    package init() {}

    func enter(_ session: Session) { sessions.withLock { _ = $0.insert(ObjectIdentifier(session)) } }

    /// Removes a session. Returns whether no session is left.
    package func leave(_ session: Session) -> Bool {
        sessions.withLock { sessions in
            sessions.remove(ObjectIdentifier(session))
            return sessions.isEmpty
        }
    }
}
