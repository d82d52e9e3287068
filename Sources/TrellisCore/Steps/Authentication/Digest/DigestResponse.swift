import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The credentials that answer a Digest challenge, as a value (RFC 7616, section 3.4).
struct DigestResponse: Sendable {
    let challenge: DigestChallenge
    let username: String
    let password: String
    let method: HTTPRequest.Method
    /// The path and query of the request.
    let uri: String
    /// The nonces that the session began with.
    let session: DigestNonces
    /// The server's current nonce: the challenge's, or a later one from the server.
    let nonce: String
    /// The number of requests that have been sent with the nonce, including this one.
    let count: UInt32
    /// The hash of the body; `nil` if the body is not protected.
    let bodyHash: String?

    /// The value of the `Authorization` field; `nil` if the hash function failed.
    var field: String? {
        guard let response, let user = userParameter else { return nil }
        var parameters = [user, "realm=\(quoted(challenge.realm))", "nonce=\(quoted(nonce))", "uri=\(quoted(uri))"]
        if let name = challenge.algorithmName { parameters.append("algorithm=\(name)") }
        if let protection {
            parameters += ["qop=\(protection.rawValue)", "nc=\(hexadecimalCount)", "cnonce=\(quoted(session.client))"]
        }
        parameters.append("response=\(quoted(response))")
        if let opaque = challenge.opaque { parameters.append("opaque=\(quoted(opaque))") }
        if challenge.hashesUser { parameters.append("userhash=true") }
        return "Digest " + parameters.joined(separator: ", ")
    }

    /// The parameter `response` (RFC 7616, section 3.4.1).
    var response: String? {
        guard let key = hash(sessionKey), let request = hash(requestText) else { return nil }
        guard let protection else { return hash("\(key):\(nonce):\(request)") }
        return hash("\(key):\(nonce):\(hexadecimalCount):\(session.client):\(protection.rawValue):\(request)")
    }

    /// The protection of the request (`qop`); `nil` if the challenge has none, as before RFC 2617.
    private var protection: DigestChallenge.Protection? {
        if challenge.protections.isEmpty { return nil }
        return bodyHash == nil ? .method : .methodAndBody
    }

    /// The value `A1` (RFC 7616, section 3.4.2).
    private var sessionKey: String? {
        let secret = "\(username):\(challenge.realm):\(password)"
        guard challenge.algorithm.isSession else { return secret }
        return hash(secret).map { "\($0):\(session.server):\(session.client)" }
    }

    /// The value `A2` (RFC 7616, section 3.4.3).
    private var requestText: String {
        let text = "\(method.rawValue):\(uri)"
        return bodyHash.map { "\(text):\($0)" } ?? text
    }

    /// The parameter `username` (RFC 7616, section 3.4.4). A name that is not ASCII is encoded as in RFC 8187, if the server
    /// can be expected to know that encoding.
    private var userParameter: String? {
        if challenge.hashesUser { return hash("\(username):\(challenge.realm)").map { "username=\"\($0)\"" } }
        guard challenge.isUTF8, username.utf8.contains(where: { $0 >= 0x80 }) else {
            return "username=\(quoted(username))"
        }
        return "username*=UTF-8''\(PercentEncoding.encode(username, plain: "!#$&+-.^_`|~"))"
    }

    private var hexadecimalCount: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    private func hash(_ text: String?) -> String? {
        text.flatMap { MessageDigest.hash($0, challenge.algorithm.hash) }
    }

    private func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}

/// A pair of nonces, the server's and the client's.
struct DigestNonces: Hashable, Sendable {
    let server: String
    let client: String
}

/// An algorithm of Digest authentication (RFC 7616, section 3.3).
struct DigestAlgorithm: Hashable, Sendable {
    let hash: MessageDigest.Algorithm
    /// Whether the key is a session's, made from the first nonces of both sides.
    let isSession: Bool

    /// Creates the algorithm of a name, in any case; `nil` if the name is unknown. Without a name the algorithm is MD5.
    init?(_ name: String?) {
        var name = name?.lowercasedASCII() ?? "md5"
        isSession = name.hasByteSuffix("-sess")
        if isSession { name.removeLast("-sess".count) }
        switch name {
        case "md5": hash = .md5
        case "sha-256": hash = .sha256
        case "sha-512-256": hash = .sha512_256
        default: return nil
        }
    }
}

extension Request {
    /// Returns the hash of the body as it will be sent; `nil` if the hash cannot be known: the body is compressed on its way,
    /// the body cannot be made twice, or the hash function is not available.
    func hashOfBody(_ algorithm: MessageDigest.Algorithm) async throws -> String? {
        guard let body else { return MessageDigest.hash("", algorithm) }
        guard compression == nil, body.isReplayable else { return nil }
        return try await body.hash(algorithm).map { Hexadecimal.text($0) }
    }
}
