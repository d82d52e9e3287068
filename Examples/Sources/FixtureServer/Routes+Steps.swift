import Synchronization
import TrellisTesting

/// Routes for the tests of redirects, retries, credentials and cookies.
extension Routes {
    /// Returns the first of `hops` redirects. The last one leads to `/request`.
    static func redirect(_ hops: Int) -> Answer {
        let next = hops > 1 ? "../redirect/\(hops - 1)" : "/request"
        return Answer(302, headers: [(name: "Location", value: next)])
    }

    /// Returns a redirect to a place with a fragment; `none` means without a fragment.
    static func redirect(to place: String, _ fragment: String) -> Answer {
        Answer(302, headers: [(name: "Location", value: fragment == "none" ? place : "\(place)#\(fragment)")])
    }

    /// Returns the status 503 for the first `failures` requests for a target, and 200 afterwards.
    static func flaky(_ request: LoopbackServer.ReceivedRequest, failures: Int) -> Answer {
        let count = seen.withLock { seen in
            seen[request.target, default: 0] += 1
            return seen[request.target] ?? 0
        }
        guard count <= failures else { return .text("at last\n") }
        return Answer(503, headers: [(name: "Retry-After", value: "0")])
    }

    /// The number of requests for each target.
    private static let seen = Mutex<[String: Int]>([:])

    /// Returns a description of the request if the request has credentials, and a challenge (401) otherwise.
    static func protected(_ request: LoopbackServer.ReceivedRequest, by scheme: String) -> Answer {
        if request["Authorization"] != nil { return description(of: request) }
        let details = scheme == "Digest" ? #", nonce="abc", qop="auth", algorithm=SHA-256"# : ""
        return Answer(401, headers: [(name: "WWW-Authenticate", value: #"\#(scheme) realm="test"\#(details)"#)])
    }

    /// Returns a description of the request, and two cookies for the next request.
    static func cookies(_ request: LoopbackServer.ReceivedRequest) -> Answer {
        var answer = description(of: request)
        answer.headers.append((name: "Set-Cookie", value: "session=1; HttpOnly; Path=/"))
        answer.headers.append((name: "Set-Cookie", value: "kept=2; Max-Age=3600; Path=/cookies"))
        return answer
    }
}
