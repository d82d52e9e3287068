package import CurlEngine

/// The reachability of other machines, according to the network of this one: whether there is a default route over a link that is up. No
/// packet is sent to find out, and no rights are needed (rtnetlink(7)).
///
/// ```swift
/// for await status in NetworkReachability.shared.statuses {
///     print(status)
/// }
/// ```
///
/// The status is a hint about this end of the network. A server can be unreachable although the network is, and a server on this machine
/// or in its own network can be reached without a default route, for example in a container that has only the loopback. Therefore the
/// framework never refuses a request because of a status; it is only used to wait less or to wait longer between two attempts
/// (``OfflineRetrier``, downloads).
public struct NetworkReachability: Sendable {
    /// The reachability at one moment.
    public enum Status: Hashable, Sendable {
        /// The system does not report its network, for example because a sandbox does not permit the socket.
        case unknown
        /// There is no default route over a link that is up.
        case notReachable
        /// There is a default route over a link of this type.
        case reachable(ConnectionType)

        /// Whether the status is ``reachable(_:)``.
        public var isReachable: Bool { if case .reachable = self { true } else { false } }
    }

    /// The type of the link of the default route. Of several routes, the one with the lowest metric counts.
    public enum ConnectionType: Hashable, Sendable {
        /// Every link but a mobile modem, including tunnels.
        case ethernetOrWiFi
        /// A mobile modem, recognised by the name of its link (`ww…`, `rmnet…`) or of its driver. A modem with another name, such as
        /// `ppp0`, counts as the other type.
        case cellular
    }

    /// The reachability in the network namespace of the process.
    public static let shared = NetworkReachability(.shared)

    /// The source of the statuses.
    let source: any NetworkStatusSource

    /// Creates the reachability according to a monitor.
    package init(_ monitor: NetworkMonitor) { source = monitor }

    /// Creates the reachability according to another source, for tests.
    package init(source: any NetworkStatusSource) { self.source = source }

    /// The status at this moment.
    public var status: Status { get async { await source.status } }

    /// The statuses from now on: first the present one, then one after each change. A reader that is slower than the changes gets only the
    /// newest. Each access returns a sequence for one reader, which ends in a cancelled task only.
    ///
    /// The process observes the network while there are such sequences, on a thread that sleeps until a change.
    public var statuses: AsyncStream<Status> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let last = Locked<Status?>(nil)
            let observation = source.observe { status in
                let isNew = last.withLock { last in
                    defer { last = status }
                    return last != status
                }
                if isNew { continuation.yield(status) }
            }
            continuation.onTermination = { _ in observation.end() }
        }
    }

    /// Waits until the status is ``Status/reachable(_:)``. Returns at once if the status is ``Status/unknown``.
    ///
    /// - Throws: `CancellationError` in a cancelled task, at once. There is no other limit on the time.
    public func waitUntilReachable() async throws {
        for await status in statuses where status != .notReachable { return }
        throw CancellationError()
    }
}

/// A source of statuses: the system, or a test.
package protocol NetworkStatusSource: Sendable {
    /// The status at this moment.
    var status: NetworkReachability.Status { get async }
    /// Calls `body` with the status now and after changes, until the observation ends. The calls come one after the other.
    func observe(
        _ body: @escaping @Sendable (NetworkReachability.Status) -> Void
    ) -> NetworkObservation
    /// Calls `body` after each change of the ways to other networks, until the observation ends.
    func observeUplinks(_ body: @escaping @Sendable () -> Void) -> NetworkObservation
}

extension NetworkMonitor: NetworkStatusSource {
    /// The status at this moment.
    package var status: NetworkReachability.Status { get async { NetworkReachability.Status(await current) } }

    /// Calls `body` with the status now and after changes of the network, also of those after which the status is the same.
    package func observe(
        _ body: @escaping @Sendable (NetworkReachability.Status) -> Void
    ) -> NetworkObservation {
        observe { (state: NetworkState?) in body(NetworkReachability.Status(state)) }
    }

    /// Calls `body` after each change of the ways to other networks: of the default routes, and of the machine's addresses on their links.
    /// Other links, such as containers', can change without a call.
    package func observeUplinks(_ body: @escaping @Sendable () -> Void) -> NetworkObservation {
        let last = Locked<Set<NetworkState.Uplink>?>(nil)
        return observe { (state: NetworkState?) in
            guard let uplinks = state?.uplinks else { return }
            let isNew = last.withLock { last in
                defer { last = uplinks }
                return last != nil && last != uplinks
            }
            if isNew { body() }
        }
    }
}

extension NetworkReachability.Status {
    /// Creates the status that a state of the network means; `nil` if the system does not report it.
    init(_ state: NetworkState?) {
        switch state?.reach {
        case nil: self = .unknown
        case .nowhere: self = .notReachable
        case .cellular: self = .reachable(.cellular)
        case .ethernetOrWiFi: self = .reachable(.ethernetOrWiFi)
        }
    }
}
