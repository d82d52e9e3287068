import CurlEngine

/// The evaluators of a session's servers, by host.
///
/// ```swift
/// let manager = try ServerTrustManager(evaluators: [
///     "api.example.com": try PublicKeysTrustEvaluator(pins: pins),
///     "*.cdn.example": DefaultTrustEvaluator(),
/// ])
/// configuration.serverTrustManager = manager
/// ```
///
/// The evaluator of a host is asked before any byte of a request is sent, on new connections and on reused ones. Connections to hosts with
/// an evaluator resume no TLS sessions, because only a complete handshake shows the chain. Requests for `http` URLs have no certificates,
/// and are not evaluated; neither are proxies, nor the servers of a ``Transport`` of your own. Each redirect is evaluated for its own host.
///
/// Hosts are named by ``HostPattern``s: a host, `*.example.com` for the names with one more label, `**.example.com` for the domain and all
/// names in it. The most specific pattern applies.
public struct ServerTrustManager: Sendable {
    private struct Entry: Sendable {
        /// The hosts; `nil` for all of them.
        let pattern: HostPattern?
        let evaluator: any ServerTrustEvaluating
    }

    /// Whether a request to an `https` host without an evaluator is an error, before a connection is made. Otherwise, only the
    /// TLS handshake decides about such a host. The default is `true`.
    public let allHostsMustBeEvaluated: Bool
    /// The evaluators, the most specific pattern first.
    private let entries: [Entry]

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a request to an `https` host without an evaluator is an error.
    ///   - evaluators: The evaluators by the texts of their patterns.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a text is not a pattern, or two of them match the same
    ///   hosts.
    public init(
        allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]
    ) throws(TrellisError) {
        var patterns: Set<HostPattern> = []
        var entries: [Entry] = []
        for (text, evaluator) in evaluators {
            let pattern = try HostPattern(text)
            guard patterns.insert(pattern).inserted else {
                throw TrellisError(.invalidRequest(.trustEvaluator("two evaluators are for the host \(text)")))
            }
            entries.append(Entry(pattern: pattern, evaluator: evaluator))
        }
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.entries = entries.sorted { one, other in
            guard let one = one.pattern, let other = other.pattern else { return false }
            return one.isMoreSpecific(than: other)
        }
    }

    /// Creates a manager with one evaluator for every host.
    public init(everyHost evaluator: any ServerTrustEvaluating) {
        allHostsMustBeEvaluated = true
        entries = [Entry(pattern: nil, evaluator: evaluator)]
    }

    /// Returns the evaluator of a host; `nil` if there is none and none is needed.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/trustRefused`` if there is none, and ``allHostsMustBeEvaluated`` is `true`.
    public func serverTrustEvaluator(forHost host: String) throws(TrellisError) -> (any ServerTrustEvaluating)? {
        if let evaluator = evaluator(of: host) { return evaluator }
        guard allHostsMustBeEvaluated else { return nil }
        throw TrellisError(.serverTrust(.noRequiredEvaluator(host: host)))
    }

    private func evaluator(of host: String) -> (any ServerTrustEvaluating)? {
        entries.first { $0.pattern?.matches(host) ?? true }?.evaluator
    }

    /// Whether one of the evaluators may wait.
    var mayWait: Bool { entries.contains { $0.evaluator.immediate == nil } }

    /// Whether one of the evaluators may need a stapled OCSP response.
    var mayNeedStaple: Bool { entries.contains { $0.evaluator.needsStaple(hasRevocationLists: false) } }

    /// Returns whether the evaluator of a host trusts no server without a stapled OCSP response.
    ///
    /// - Parameter hasRevocationLists: Whether the handshake with the host checks revocation lists.
    func needsStaple(from host: String, hasRevocationLists: Bool) -> Bool {
        evaluator(of: host)?.needsStaple(hasRevocationLists: hasRevocationLists) ?? false
    }
}
