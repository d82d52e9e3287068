import CurlEngine
import Foundation
import Trellis
import TrellisTesting

/// The behaviour of an HTTP proxy, and of the servers behind it: after a tunnel is established, the same script responds in the tunnel.
enum ProxyPeer {
    typealias Request = LoopbackServer.ReceivedRequest

    static let username = "J\u{e4}s\u{f8}n"
    static let password = #"Secret, or "not"%2F%?"#

    /// Returns a configuration with the proxy, with or without the credentials.
    static func configuration(
        _ server: LoopbackServer, _ authentication: Proxy.Authentication? = nil,
        password: String = password
    ) throws -> SessionConfiguration {
        try configuration(server.url(), authentication, password: password)
    }

    /// Returns a configuration with the proxy at a URL, with or without the credentials.
    static func configuration(
        _ url: String, _ authentication: Proxy.Authentication? = nil, password: String = password
    ) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        let proxy =
            if let authentication {
                try Proxy(
                    url, username: username, password: password, authentication: authentication)
            } else {
                try Proxy(url)
            }
        configuration.proxy = .always(proxy)
        return configuration
    }

    /// Starts a proxy that opens a tunnel only for the correct password.
    static func digest(closesAfterChallenge: Bool = false) throws -> LoopbackServer {
        try LoopbackServer.http { request in
            guard request.method == "CONNECT" else { return .text("through the tunnel") }
            guard !isDigest(of: request) else { return .init(200) }
            let head =
                "HTTP/1.1 407 Who asks\r\nProxy-Authenticate: Basic realm=\"r\"\r\n"
                + "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256\r\n"
                + "Content-Length: 3\r\n"
            if closesAfterChallenge {
                return .init(body: .raw { try $0.write(head + "Connection: close\r\n\r\nno!") })
            }
            return .init(
                407,
                headers: [
                    ("Proxy-Authenticate", "Basic realm=\"r\""),
                    ("Proxy-Authenticate", "Digest realm=\"r\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256"),
                ], body: Data("no!".utf8))
        }
    }

    /// Starts a proxy that accepts only Digest authentication, also for requests that it forwards.
    static func digestAlone() throws -> LoopbackServer {
        try LoopbackServer.http { request in
            if request.target.hasPrefix("/") { return .text("through the tunnel") }
            if request.method == "CONNECT", isDigest(of: request) { return .init(200) }
            let challenge = "Digest realm=\"r\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256"
            return .init(407, headers: [("Proxy-Authenticate", challenge)], body: Data("no!".utf8))
        }
    }

    /// Returns whether the response to a Digest challenge is correct (RFC 7616, section 3.4.1).
    static func isDigest(of request: Request, nonce: String = "n1") -> Bool {
        guard let field = request["Proxy-Authorization"], field.hasPrefix("Digest ") else { return false }
        func value(_ name: String) -> String? {
            field.firstRange(of: "\(name)=").map { found in
                let rest = field[found.upperBound...]
                return rest.hasPrefix("\"")
                    ? String(rest.dropFirst().prefix { $0 != "\"" }) : String(rest.prefix { $0 != "," })
            }
        }
        guard value(" nonce") == nonce, let nc = value("nc"), let cnonce = value("cnonce"),
            let response = value("response"),
            let a1 = hash("\(username):r:\(password)"), let a2 = hash("CONNECT:\(request.target)")
        else { return false }
        return response == hash("\(a1):\(nonce):\(nc):\(cnonce):auth:\(a2)")
    }

    private static func hash(_ text: String) -> String? {
        let digest = MessageDigest(.sha256)
        digest?.update(Data(text.utf8))
        return digest?.finish()
    }
}
