/// The TLS of a connection, whose socket carries the encrypted bytes.
struct ConnectionTLS {
    private let session: ServerTLSSession

    /// Performs the handshake, with its faults.
    init(
        _ identities: LoopbackServer.Identities, on connection: LoopbackServer.Connection, _ schedule: FaultSchedule
    ) throws {
        let faults = schedule.next(.handshake, nil)
        if !faults.isEmpty { try connection.fillOrThrow() }
        let player = FaultPlayer(connection: connection, schedule: schedule)
        for fault in faults {
            try player.play(fault)
            if let alert = fault.alert { try Self.refuse(connection, with: alert) }
        }
        guard let session = ServerTLSSession(try identities.settings(for: faults)) else {
            throw LoopbackServer.TLSUnavailable()
        }
        if !session.receive(connection.buffer) { throw LoopbackServer.TLSUnavailable() }
        connection.buffer = []
        self.session = session
        while true {
            let step = session.handshake()
            try connection.transmit(session.takeOutput())
            switch step {
            case .complete: return
            case .needsBytes:
                let bytes = try connection.receive()
                if bytes.isEmpty { try Self.fail(connection, "the client has closed the connection") }
                if !session.receive(bytes) { throw LoopbackServer.TLSUnavailable() }
            case .failed(let reason): try Self.fail(connection, reason)
            case .ended: try Self.fail(connection, "the client has ended TLS")
            }
        }
    }

    /// Ends the handshake with an alert (RFC 8446, sections 5.1 and 6.2), as a record of TLS 1.2 in plain text.
    private static func refuse(_ connection: LoopbackServer.Connection, with alert: UInt8) throws {
        connection.buffer = []
        let (record, fatal): (UInt8, UInt8) = (21, 2)
        try connection.transmit([record, 3, 3, 0, 2, fatal, alert])
        throw LoopbackServer.Interruption.closedByScript
    }

    private static func fail(_ connection: LoopbackServer.Connection, _ reason: String) throws {
        connection.listener.record.update { $0.handshakeFailures.append(reason) }
        throw LoopbackServer.Interruption.closedByPeer
    }

    /// Encrypts and sends a piece; returns the number of its bytes.
    func send(_ piece: ArraySlice<UInt8>, over connection: LoopbackServer.Connection) throws -> Int {
        guard session.write(Array(piece)) else { throw LoopbackServer.Interruption.closedByPeer }
        try connection.transmit(session.takeOutput())
        return piece.count
    }

    /// Changes the key of the server a number of times.
    func updateKey(times count: Int, over connection: LoopbackServer.Connection) throws {
        for _ in 0..<count where !session.updateKey() { throw LoopbackServer.Interruption.closedByPeer }
        try connection.transmit(session.takeOutput())
    }

    /// Receives and decrypts the next bytes; empty at the end of the peer's stream.
    func receive(over connection: LoopbackServer.Connection) throws -> [UInt8] {
        while true {
            switch session.read(upTo: 64 << 10) {
            case .complete(let bytes): return bytes
            case .ended: return []
            case .failed(let reason): try Self.fail(connection, reason)
            case .needsBytes:
                // TLS answers some of the client's messages.
                try connection.transmit(session.takeOutput())
                let bytes = try connection.receive()
                guard !bytes.isEmpty, session.receive(bytes) else { return [] }
            }
        }
    }

    /// Announces the end of the connection to the client.
    func end(over connection: LoopbackServer.Connection) {
        session.end()
        try? connection.transmit(session.takeOutput())
    }
}

extension Fault {
    /// The alert of TLS that ends the handshake; `nil` for another fault.
    fileprivate var alert: UInt8? {
        switch self {
        case .tls(.handshake): 40
        case .tls(.version): 70
        default: nil
        }
    }
}
