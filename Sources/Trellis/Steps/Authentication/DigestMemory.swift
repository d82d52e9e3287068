import CurlEngine

/// What is known of an origin that wants Digest authentication.
struct DigestSpace: Sendable {
    let challenge: DigestChallenge
    /// The nonces that it began with.
    let session: DigestNonces
    private(set) var nonce: String
    private(set) var count: UInt32 = 0
    /// The URLs that requests have here are those that are sent. Where a session completes them, what is sent is known only
    /// when it has been.
    var hasFinalURLs: Bool

    init(_ challenge: DigestChallenge, clientNonce: String, hasFinalURLs: Bool) {
        self.challenge = challenge
        self.hasFinalURLs = hasFinalURLs
        session = DigestNonces(server: challenge.nonce, client: clientNonce)
        nonce = challenge.nonce
    }

    /// Counts one request more; `false` where there are no more numbers.
    mutating func use() -> Bool {
        guard count < .max else { return false }
        count += 1
        return true
    }

    /// The server wants another nonce from now on (RFC 7616, section 3.5).
    /// Whether the challenge is of this space, and of its present nonce.
    func isFor(_ challenge: DigestChallenge) -> Bool {
        nonce.hasSameBytes(as: challenge.nonce) && self.challenge.realm.hasSameBytes(as: challenge.realm)
    }

    mutating func renew(_ nonce: String) {
        guard !nonce.hasSameBytes(as: self.nonce) else { return }
        self.nonce = nonce
        count = 0
    }
}

/// What is known of origins, shared by the requests to them: no count is used twice.
actor DigestMemory {
    /// So many origins are known at once.
    private static var capacity: Int { 256 }

    private var spaces: [String: DigestSpace] = [:]
    private let makeNonce: @Sendable () -> String

    init(makeNonce: @escaping @Sendable () -> String) { self.makeNonce = makeNonce }

    /// What a request to an origin is sent with before it is asked; `nil` where nothing is known, or cannot be used.
    func next(for origin: String) -> DigestSpace? {
        guard spaces[origin]?.hasFinalURLs ?? false else { return nil }
        return use(origin)
    }

    /// What a request is sent with that has been asked for it.
    func answer(_ challenge: DigestChallenge, for origin: String, hasFinalURLs: Bool) -> DigestSpace? {
        // Others may have been asked with the same nonce.
        if spaces[origin]?.isFor(challenge) != true {
            if spaces.count >= Self.capacity { spaces = [:] }
            spaces[origin] = DigestSpace(challenge, clientNonce: makeNonce(), hasFinalURLs: hasFinalURLs)
        }
        if !hasFinalURLs { spaces[origin]?.hasFinalURLs = false }
        return use(origin)
    }

    /// The server has said which nonce is to be used next, in the answer to a request that was sent with `nonce`.
    func renew(_ next: String, after nonce: String, for origin: String) {
        guard spaces[origin]?.nonce.hasSameBytes(as: nonce) == true else { return }
        spaces[origin]?.renew(next)
    }

    private func use(_ origin: String) -> DigestSpace? {
        guard spaces[origin]?.use() ?? false else {
            spaces[origin] = nil
            return nil
        }
        return spaces[origin]
    }
}
