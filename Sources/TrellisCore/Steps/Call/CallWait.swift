import CurlEngine

/// The reason why a call waits, besides the wait for a connection.
enum CallWait: Sendable {
    /// The call waits for its turn at a limit of a host.
    case turn(any WaitingLimit, host: String, ticket: UInt64, since: EngineInstant)
    /// The call waits for the response to an identical request. The number is the one of the call that stands for both, if there is one.
    case sharedAnswer(since: EngineInstant, of: UInt64? = nil)
    /// The call waits for a function of the session's owner.
    case function(CallFunction, since: EngineInstant)

    /// The instant at which the wait began.
    var start: EngineInstant {
        switch self {
        case .turn(_, _, _, let start), .sharedAnswer(let start, _), .function(_, let start): start
        }
    }

    /// Whether the call waits for its turn.
    var isQueue: Bool { if case .function = self { false } else { true } }

    /// The reason in words, for the detail of an error.
    var description: String {
        switch self {
        case .turn(let limit, let host, let ticket, _): limit.reasonForWaiting(ticket, host: host)
        case .sharedAnswer: "an identical request is under way, and its response has not come"
        case .function(let function, _): function.description
        }
    }
}

/// A function of the session's owner that a call asks before its request is sent.
enum CallFunction: Sendable {
    /// The ``NameResolver`` of the session.
    case resolver(host: String)
    /// The look-up or the ``ServiceDiscovery`` that names the endpoints of an origin.
    case endpoints(origin: String)
    /// The function of ``ProxyConfiguration/selecting(_:)``.
    case proxySelection
    /// The ``PACScript``, with its file or its download.
    case script
    /// The reading of the files of ``TLSConfiguration``, with the passphrase of a key.
    case trustFiles
    /// The evaluator of a host (``ServerTrustManager``).
    case evaluator(host: String)

    /// Whether the function is the evaluator of a server.
    fileprivate var isEvaluator: Bool { if case .evaluator = self { true } else { false } }

    /// The state of a function that has not returned, for the detail of an error.
    var description: String {
        switch self {
        case .resolver(let host): "the resolver has not found the addresses of \(host)"
        case .endpoints(let origin): "the endpoints of \(origin) are not known yet"
        case .proxySelection: "the function that selects the proxies has not returned"
        case .script: "the PAC script has not named the proxies"
        case .trustFiles: "the certificates and keys, or their passphrase, have not been read"
        case .evaluator(let host): "the evaluator of \(host) has not decided"
        }
    }
}

extension TrellisError {
    /// Returns the error of an exchange whose time is over while it waits for a function.
    static func timedOut(_ limit: Timeout, waitingFor function: CallFunction, after elapsed: Duration) -> TrellisError {
        var error = TrellisError(.timedOut(limit), phase: .connecting)
        error.metrics.total = elapsed
        error.detail = function.description
        error.isTrustTimeout = function.isEvaluator
        return error
    }
}
