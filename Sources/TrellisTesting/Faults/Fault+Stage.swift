extension Fault {
    /// A part of an exchange. A plan chooses its faults together.
    enum Stage: Int, Sendable, CaseIterable {
        /// The lookup of the name and the connecting: a request that makes a connection.
        case lookup
        /// The TLS handshake of a connection.
        case handshake
        /// The exchange of a request and its response.
        case exchange
    }

    /// The stage of the fault.
    var stage: Stage {
        switch self {
        case .unresolvedName, .refusedConnection: .lookup
        case .tls: .handshake
        case .drip, .framing, .http2: .exchange
        case .silence(let moment), .reset(let moment), .close(let moment), .closeWithoutNotify(let moment),
            .latency(_, let moment):
            switch moment {
            case .connecting: .lookup
            case .handshake: .handshake
            case .requestHead, .requestBody, .responseHead, .responseBody, .end: .exchange
            }
        }
    }

    /// The moment when the fault happens; `nil` for one that concerns the whole body of a response.
    var moment: Moment? {
        switch self {
        case .unresolvedName, .refusedConnection: .connecting
        case .tls: .handshake
        case .silence(let moment), .reset(let moment), .close(let moment), .closeWithoutNotify(let moment),
            .latency(_, let moment):
            moment
        case .framing(.chunkSize(let count)): .responseBody(after: count)
        case .framing(.statusLine), .framing(.fieldLine), .framing(.contentLengths): .responseHead
        case .framing(.lengthTooLarge), .framing(.lengthTooSmall), .drip: nil
        case .http2(.resetStream(_, let count)): count.map { .responseBody(after: $0) } ?? .responseHead
        case .http2(.goAway): .responseHead
        }
    }

    /// Whether the length of the response is a wrong one.
    var isWrongLength: Bool {
        switch self {
        case .framing(.lengthTooLarge), .framing(.lengthTooSmall): true
        default: false
        }
    }

    /// Whether the fault needs TLS.
    var needsTLS: Bool { stage == .handshake }

    /// Whether the fault needs HTTP/2.
    var needsHTTP2: Bool { if case .http2 = self { true } else { false } }

    /// Whether the fault concerns the text of HTTP/1.1.
    var needsHTTP1: Bool { if case .framing = self { true } else { false } }
}

extension Fault.Moment {
    /// The number of bytes of the response's body after which the moment comes; `nil` for another moment.
    var responseBytes: Int? { if case .responseBody(let count) = self { count } else { nil } }

    /// The number of bytes of the request's body after which the moment comes; `nil` for another moment.
    var requestBytes: Int? { if case .requestBody(let count) = self { count } else { nil } }
}
