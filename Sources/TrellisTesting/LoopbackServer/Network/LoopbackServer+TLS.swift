import CurlEngine

extension LoopbackServer {
    /// The settings of a server that uses TLS.
    public struct TLS: Sendable {
        /// The authority that issues the server's certificate, and must have issued clients' certificates.
        public var authority: TestAuthority
        /// The names and literal addresses that the certificate is for, besides `localhost`, `127.0.0.1` and `::1`. A name may have a
        /// wildcard, such as `*.example.com`.
        public var names: [String]
        /// The flaw of the certificate; `nil`, the default, for a valid one.
        public var flaw: CertificateFlaw?
        /// Whether clients must have a certificate of the authority (``TestAuthority/clientIdentity(_:)``). The default is
        /// `false`.
        public var requiresClientCertificate = false

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - authority: The authority; `nil`, the default, for a new one.
        ///   - names: Further names and addresses of the server.
        ///   - flaw: The flaw of the certificate.
        ///   - requiresClientCertificate: Whether clients must have a certificate.
        /// - Throws: ``TLSUnavailable`` if OpenSSL is missing.
        public init(
            authority: TestAuthority? = nil, names: [String] = [], flaw: CertificateFlaw? = nil,
            requiresClientCertificate: Bool = false
        ) throws {
            self.authority = try authority ?? TestAuthority()
            self.names = names
            self.flaw = flaw
            self.requiresClientCertificate = requiresClientCertificate
        }
    }

    /// The error of TLS that is not available, or of a name that no certificate can have.
    public struct TLSUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
        /// The error in words.
        public var description: String {
            "the process has no OpenSSL, or OpenSSL has refused a name of the certificate"
        }
    }

    /// Creates a server as ``http(on:storesBodies:faults:clock:_:)`` does, for HTTP/1.1 over TLS.
    ///
    /// ```swift
    /// let server = try LoopbackServer.https { _ in .text("secret") }
    /// let session = Session(configuration: server.sessionConfiguration())
    /// let text = try await session.string(server.url("/"))
    /// ```
    ///
    /// The certificate is for `localhost`, `127.0.0.1`, `::1` and the given names, and is issued by an authority that only a session with
    /// ``sessionConfiguration(_:)`` trusts, or one with its ``TestAuthority/tlsConfiguration``. No TLS session is resumed, so that each
    /// connection has a complete handshake.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - tls: The settings of TLS; `nil`, the default, for a valid certificate of a new authority.
    ///   - storesBodies: `false` to count the bytes of request bodies without keeping them.
    ///   - faults: The faults that the server plays.
    ///   - clock: The clock of the latencies and drips among the faults; `nil`, the default, for real time.
    ///   - handler: Returns the response to a request.
    /// - Throws: ``SystemError`` when the system refuses; ``TLSUnavailable`` if OpenSSL is missing; ``UnplayableFault`` for faults of
    ///   HTTP/2.
    public static func https(
        on address: Address = .ipv4, tls: TLS? = nil, storesBodies: Bool = true, faults: FaultPlan = [],
        clock: TestClock? = nil, _ handler: @escaping @Sendable (ReceivedRequest) throws -> Response
    ) throws -> LoopbackServer {
        try faults.check(hasHTTP2: false)
        return try LoopbackServer(on: address, tls: tls ?? TLS(), faults: faults, clock: clock) {
            try $0.serve(storesBodies: storesBodies, $1, handler)
        }
    }

    /// The certificates of a server, which are made when a handshake first needs them.
    final class Identities: Sendable {
        private struct Key: Hashable {
            let flaw: CertificateFlaw?
            let requiresClientCertificate: Bool
        }

        private let tls: TLS
        private let made = Locked<[Key: ServerTLS]>([:])

        /// Makes the certificate without a fault.
        init(_ tls: TLS) throws {
            self.tls = tls
            _ = try settings(for: [])
        }

        /// Returns the settings for a handshake with some faults.
        func settings(for faults: [Fault]) throws -> ServerTLS {
            let flaws = faults.compactMap { if case .tls(.certificate(let flaw)) = $0 { flaw } else { nil } }
            let key = Key(
                flaw: flaws.first ?? tls.flaw,
                requiresClientCertificate: tls.requiresClientCertificate
                    || faults.contains(.tls(.clientCertificateRequired)))
            return try made.withLock { made in
                if let known = made[key] { return known }
                let authority = key.requiresClientCertificate ? tls.authority.issuer : nil
                guard let certificate = try certificate(key.flaw),
                    let settings = ServerTLS(certificate, clientAuthority: authority)
                else { throw TLSUnavailable() }
                made[key] = settings
                return settings
            }
        }

        private func certificate(_ flaw: CertificateFlaw?) throws -> IssuedCertificate? {
            let day: Int64 = 86_400
            let (begin, end) =
                switch flaw {
                case .expired: (-30 * day, -day)
                case .notYetValid: (day, 30 * day)
                default: (-day, TestAuthority.year)
                }
            let issuer: IssuedCertificate? =
                switch flaw {
                case .selfSigned: nil
                case .unknownAuthority: try TestAuthority(name: "Authority that no test trusts").issuer
                default: tls.authority.issuer
                }
            let names =
                flaw == .wrongHost ? [CertificateFlaw.otherHost] : ["localhost", "127.0.0.1", "::1"] + tls.names
            return IssuedCertificate(
                commonName: "Server of a test", names: names, use: .server, begin: begin, end: end, issuer: issuer)
        }
    }
}

extension LoopbackServer.Connection {
    /// Begins TLS, with the faults of the handshake.
    func beginTLS(_ identities: LoopbackServer.Identities, _ schedule: FaultSchedule) throws {
        let faults = schedule.next(.handshake, nil)
        if !faults.isEmpty { try fillOrThrow() }
        for fault in faults {
            try play(fault, schedule)
            if let alert = fault.alert { try refuse(with: alert) }
        }
        guard let session = ServerTLSSession(try identities.settings(for: faults)) else {
            throw LoopbackServer.TLSUnavailable()
        }
        if !session.receive(buffer) { throw LoopbackServer.TLSUnavailable() }
        buffer = []
        while true {
            let step = session.handshake()
            try transmit(session.takeOutput())
            switch step {
            case .complete:
                tls = session
                return
            case .needsBytes:
                let bytes = try receive()
                if bytes.isEmpty { try fail("the client has closed the connection") }
                if !session.receive(bytes) { throw LoopbackServer.TLSUnavailable() }
            case .failed(let reason): try fail(reason)
            case .ended: try fail("the client has ended TLS")
            }
        }
    }

    /// Ends the handshake with an alert (RFC 8446, sections 5.1 and 6.2), as a record of TLS 1.2 in plain text.
    private func refuse(with alert: UInt8) throws {
        buffer = []
        let (record, fatal): (UInt8, UInt8) = (21, 2)
        try transmit([record, 3, 3, 0, 2, fatal, alert])
        throw LoopbackServer.Interruption.closedByScript
    }

    private func fail(_ reason: String) throws {
        listener.record.update { $0.handshakeFailures.append(reason) }
        throw LoopbackServer.Interruption.closedByPeer
    }

    /// Encrypts and sends a piece; returns the number of its bytes.
    func send(_ piece: ArraySlice<UInt8>, through tls: ServerTLSSession) throws -> Int {
        guard tls.write(Array(piece)) else { throw LoopbackServer.Interruption.closedByPeer }
        try transmit(tls.takeOutput())
        return piece.count
    }

    /// Receives and decrypts the next bytes; empty at the end of the peer's stream.
    func receive(through tls: ServerTLSSession) throws -> [UInt8] {
        while true {
            switch tls.read(upTo: 64 << 10) {
            case .complete(let bytes): return bytes
            case .ended: return []
            case .failed(let reason): try fail(reason)
            case .needsBytes:
                // TLS answers some of the client's messages.
                try transmit(tls.takeOutput())
                let bytes = try receive()
                guard !bytes.isEmpty, tls.receive(bytes) else { return [] }
            }
        }
    }

    /// Announces the end of the connection to the client.
    func end(_ tls: ServerTLSSession) {
        tls.end()
        try? transmit(tls.takeOutput())
    }
}

extension Fault {
    /// The alert of TLS with which the server ends the handshake; `nil` for another fault.
    fileprivate var alert: UInt8? {
        switch self {
        case .tls(.handshake): 40
        case .tls(.version): 70
        default: nil
        }
    }
}
