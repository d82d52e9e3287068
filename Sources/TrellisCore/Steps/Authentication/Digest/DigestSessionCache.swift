import CurlEngine

/// The state of Digest authentication with one origin: the challenge, and the nonce and count of the next request.
struct DigestSession: Sendable {
    let challenge: DigestChallenge
    /// The nonces that the state began with.
    let session: DigestNonces
    /// The server's current nonce.
    private(set) var nonce: String
    /// The number of requests that have been sent with the nonce.
    private(set) var count: UInt32 = 0
    /// Whether the URL of a request in this step is the URL that is sent. Where a session completes the URLs, the URL
    /// that is sent is known only after the request was sent.
    var hasFinalURLs: Bool
    /// The number of the last use among the uses of all origins.
    var lastUse = 0

    init(_ challenge: DigestChallenge, clientNonce: String, hasFinalURLs: Bool) {
        self.challenge = challenge
        self.hasFinalURLs = hasFinalURLs
        session = DigestNonces(server: challenge.nonce, client: clientNonce)
        nonce = challenge.nonce
    }

    /// Counts one more request; returns `false` if the count has reached its maximum.
    mutating func use() -> Bool {
        guard count < .max else { return false }
        count += 1
        return true
    }

    /// Returns whether the challenge belongs to this state and has its current nonce.
    func isFor(_ challenge: DigestChallenge) -> Bool {
        nonce.hasSameBytes(as: challenge.nonce) && self.challenge.realm.hasSameBytes(as: challenge.realm)
    }

    /// Replaces the nonce with the one that the server wants from now on (RFC 7616, section 3.5).
    mutating func renew(_ nonce: String) {
        guard !nonce.hasSameBytes(as: self.nonce) else { return }
        self.nonce = nonce
        count = 0
    }
}

/// The states of Digest authentication by origin, shared by the requests to these origins, so that no count is used twice.
actor DigestSessionCache {
    /// The number of origins that are known at once.
    private static var capacity: Int { 256 }

    private var spaces: [String: DigestSession] = [:]
    private var useCount = 0
    /// Makes a nonce of the client.
    private let makeNonce: @Sendable () -> String

    init(makeNonce: @escaping @Sendable () -> String) { self.makeNonce = makeNonce }

    /// Returns the state to send a request with before the server has asked for it; `nil` if the origin is unknown or its
    /// state cannot be used.
    func next(for origin: String) -> DigestSession? {
        guard spaces[origin]?.hasFinalURLs ?? false else { return nil }
        return use(origin)
    }

    /// Returns whether an origin has sent a challenge.
    func knows(_ origin: String) -> Bool { spaces[origin] != nil }

    /// Returns the state to send a request with after the server has refused it with a challenge; `nil` if the state cannot be
    /// used.
    func answer(_ challenge: DigestChallenge, for origin: String, hasFinalURLs: Bool) -> DigestSession? {
        // Other requests may have been refused with the same nonce.
        if spaces[origin]?.isFor(challenge) != true {
            if spaces[origin] == nil, spaces.count >= Self.capacity { forgetLeastRecentlyUsed() }
            spaces[origin] = DigestSession(challenge, clientNonce: makeNonce(), hasFinalURLs: hasFinalURLs)
        }
        if !hasFinalURLs { spaces[origin]?.hasFinalURLs = false }
        return use(origin)
    }

    /// Replaces an origin's nonce with the one that the server named in the response to a request that was sent with `nonce`.
    func renew(_ next: String, after nonce: String, for origin: String) {
        guard spaces[origin]?.nonce.hasSameBytes(as: nonce) == true else { return }
        spaces[origin]?.renew(next)
    }

    /// Counts one more request to an origin; forgets the origin if the count has reached its maximum.
    private func use(_ origin: String) -> DigestSession? {
        guard spaces[origin]?.use() ?? false else {
            spaces[origin] = nil
            return nil
        }
        useCount += 1
        spaces[origin]?.lastUse = useCount
        return spaces[origin]
    }

    private func forgetLeastRecentlyUsed() {
        guard let origin = spaces.min(by: { $0.value.lastUse < $1.value.lastUse })?.key else { return }
        spaces[origin] = nil
    }
}
