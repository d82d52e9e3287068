import CurlEngine

/// The origins of the queue.
extension AdmissionQueue {
    /// The known kind of an origin's connections.
    enum Sharing: Equatable {
        /// The kind is not known before the first connection.
        case unknown
        /// A first request is connecting to find out whether others can share its connection; the others wait for it.
        case probed(by: ID)
        /// Each connection carries one request at a time.
        case exclusive
        /// Each connection carries many requests.
        case shared
    }

    /// An origin, with its active and waiting requests.
    struct Origin {
        let name: String
        /// The number of requests that have a slot.
        var active = 0
        var sharing = Sharing.unknown
        var line = AgingQueue<ID>()
        /// The turn of the origin; the origin with the lowest is next. Set when the origin begins to wait, and again after each of its
        /// turns.
        var turn: UInt64 = 0
        /// The kind of room that the origin is in a heap for.
        var standing = Room.none
        /// The engines of the origin's connections, if the session has several engines.
        var spread = EngineSpread()

        var isMultiplexed: Bool { sharing == .shared }

        /// The number of connections in use. A request that has a slot, and no engine yet, is assumed to share a connection if it can.
        var connections: Int {
            guard isMultiplexed else { return active }
            let fewest = (active + streamsPerConnection - 1) / streamsPerConnection
            return spread.isEmpty ? fewest : max(fewest, spread.usedCount(streams: streamsPerConnection))
        }

        /// The number of connections in use or idle, if the session has several engines.
        var held: Int { max(connections, spread.openCount) }

        /// Sets the kind of the connections. Returns the change of the number of connections in use.
        mutating func setSharing(_ sharing: Sharing) -> Int {
            guard self.sharing != sharing else { return 0 }
            let before = connections
            self.sharing = sharing
            return connections - before
        }

        // These methods are mutating only because the compiler copies the complete origin for others.

        /// Returns whether the origin has a name.
        mutating func isNamed(_ name: String) -> Bool { self.name == name }

        /// Returns whether requests wait.
        mutating func hasWaiting() -> Bool { !line.isEmpty }

        /// Returns whether the kind of the connections is another one.
        mutating func differs(from sharing: Sharing) -> Bool { self.sharing != sharing }

        /// Returns the room for one more request.
        ///
        /// - Parameters:
        ///   - limit: The maximum number of connections.
        ///   - requests: The maximum number of requests.
        mutating func room(perOrigin limit: Int, requests: Int) -> Room {
            if case .probed = sharing { return .none }
            guard active < requests else { return .none }
            let count = connections
            if isMultiplexed, active < count * streamsPerConnection { return .stream }
            return count < limit ? .connection : .none
        }

        /// Changes the number of active requests. Returns the change of the number of connections in use.
        mutating func changeActive(by change: Int) -> Int {
            let before = connections
            active += change
            return connections - before
        }
    }

    /// The room that an origin has for one more request, without regard to the other origins.
    enum Room: Equatable {
        case none
        /// A stream on a connection that exists already.
        case stream
        /// A new connection, within the limit per origin.
        case connection
    }
}
