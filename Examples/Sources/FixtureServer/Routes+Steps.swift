import Synchronization
import TrellisTesting

/// What redirects, retries, credentials and cookies are tested with.
extension Routes {
    /// So many hops, and then the request that arrived.
    static func redirect(_ hops: Int) -> Answer {
        let next = hops > 1 ? "../redirect/\(hops - 1)" : "/request"
        return Answer(302, headers: [(name: "Location", value: next)])
    }

    /// A redirect to a place with a fragment; `none`: without one.
    static func redirect(to place: String, _ fragment: String) -> Answer {
        Answer(302, headers: [(name: "Location", value: fragment == "none" ? place : "\(place)#\(fragment)")])
    }

    /// Not available the first so many times that a target is asked for.
    static func flaky(_ request: LoopbackServer.ReceivedRequest, failures: Int) -> Answer {
        let count = seen.withLock { seen in
            seen[request.target, default: 0] += 1
            return seen[request.target] ?? 0
        }
        guard count <= failures else { return .text("at last\n") }
        return Answer(503, headers: [(name: "Retry-After", value: "0")])
    }

    private static let seen = Mutex<[String: Int]>([:])

    /// The request that arrived, if it came with credentials.
    static func protected(_ request: LoopbackServer.ReceivedRequest, by scheme: String) -> Answer {
        if request["Authorization"] != nil { return description(of: request) }
        let details = scheme == "Digest" ? #", nonce="abc", qop="auth", algorithm=SHA-256"# : ""
        return Answer(401, headers: [(name: "WWW-Authenticate", value: #"\#(scheme) realm="test"\#(details)"#)])
    }

    /// The request that arrived, and two cookies for the next one.
    static func cookies(_ request: LoopbackServer.ReceivedRequest) -> Answer {
        var answer = description(of: request)
        answer.headers.append((name: "Set-Cookie", value: "session=1; HttpOnly; Path=/"))
        answer.headers.append((name: "Set-Cookie", value: "kept=2; Max-Age=3600; Path=/cookies"))
        return answer
    }
}
