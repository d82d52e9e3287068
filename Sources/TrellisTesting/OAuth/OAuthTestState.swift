import CurlEngine
import FoundationEssentials
import TrellisCore

/// The tokens, codes and clients of an ``OAuthTestServer``, and its answers.
struct OAuthTestState: Sendable {
    /// An authorization code that was issued.
    private struct Code: Sendable {
        let redirect: String?
        let challenge: String?
        let client: String?
    }

    let clients: [String: String?]
    var rules: OAuthTestServer.Rules
    var forms: [[String: String]] = []
    var issued: [String] = []
    /// The access tokens that are accepted.
    var valid: Set<String> = []
    /// Whether a refresh token is the present one, by refresh token; one that was used is `false`.
    var refreshTokens: [String: Bool] = [:]
    private var codes: [String: Code] = [:]
    private var deviceCodes: Set<String> = []
    private var count = 0

    init(clients: [String: String?], rules: OAuthTestServer.Rules) {
        self.clients = clients
        self.rules = rules
    }

    private mutating func next(_ kind: String) -> String {
        count += 1
        return "\(kind)-\(count)-0123456789"
    }

    mutating func newRefreshToken() -> String {
        let token = next("refresh")
        refreshTokens[token] = true
        return token
    }

    mutating func newCode(_ items: [String: String]) -> String {
        let code = next("code")
        codes[code] = Code(
            redirect: items["redirect_uri"], challenge: items["code_challenge"], client: items["client_id"])
        return code
    }

    // MARK: The token endpoint

    mutating func token(_ form: [String: String], authorization: String?) -> MockResponse {
        forms.append(form)
        if !rules.interruptions.isEmpty { return rules.interruptions.removeFirst() }
        guard let client = client(form, authorization) else { return Self.refusal("invalid_client", status: 401) }
        switch form["grant_type"] {
        case "client_credentials":
            guard clients[client] ?? nil != nil || form["client_assertion"] != nil else {
                return Self.refusal("unauthorized_client")
            }
            return success(withRefreshToken: rules.issuesRefreshTokens, form["scope"])
        case "refresh_token": return refresh(form["refresh_token"] ?? "", form["scope"])
        case "urn:ietf:params:oauth:grant-type:jwt-bearer":
            guard let assertion = form["assertion"] else { return Self.refusal("invalid_request") }
            guard rules.assertions.contains(assertion) else { return Self.refusal("invalid_grant") }
            return success(withRefreshToken: rules.issuesRefreshTokens, form["scope"])
        case "urn:ietf:params:oauth:grant-type:device_code": return device(form["device_code"] ?? "")
        case "authorization_code": return code(form, of: client)
        case nil: return Self.refusal("invalid_request")
        default: return Self.refusal("unsupported_grant_type")
        }
    }

    /// Returns the client that has proved itself; `nil` if none has.
    private func client(_ form: [String: String], _ authorization: String?) -> String? {
        if let authorization {
            guard authorization.hasBytePrefix("Basic "),
                let data = Data(base64Encoded: String(authorization.dropFirst(6)))
            else { return nil }
            let pair = String(decoding: data, as: UTF8.self)
            let name = pair.prefix(beforeBytes: ":")
            let id = FormItems.decoded(name)
            let secret = FormItems.decoded(Substring(pair.utf8.dropFirst(name.utf8.count + 1)))
            return clients[id] ?? nil == secret ? id : nil
        }
        guard let id = form["client_id"], let secret = clients[id] else { return nil }
        if let assertion = form["client_assertion"] {
            let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            return form["client_assertion_type"] == type && rules.assertions.contains(assertion) ? id : nil
        }
        return secret == form["client_secret"] ? id : nil
    }

    private mutating func refresh(_ token: String, _ scope: String?) -> MockResponse {
        guard let isPresent = refreshTokens[token] else { return Self.refusal("invalid_grant") }
        guard isPresent else {
            // Somebody else has the token (RFC 9700, section 4.14.2).
            refreshTokens = [:]
            valid = []
            return Self.refusal("invalid_grant", "the refresh token was used before")
        }
        if rules.rotates { refreshTokens[token] = false }
        return success(withRefreshToken: rules.rotates, scope)
    }

    private mutating func code(_ form: [String: String], of client: String) -> MockResponse {
        guard let code = form["code"].flatMap({ codes.removeValue(forKey: $0) }), code.client == client,
            code.redirect == form["redirect_uri"]
        else { return Self.refusal("invalid_grant") }
        if let challenge = code.challenge {
            let digest = try? SHA256Digest.bytes(of: Array((form["code_verifier"] ?? "").utf8)[...])
            let text = digest?.base64EncodedString().replacing(byte: "+", with: "-").replacing(byte: "/", with: "_")
                .replacing(byte: "=", with: "")
            guard text == challenge else { return Self.refusal("invalid_grant", "the code verifier is wrong") }
        }
        return success(withRefreshToken: true, form["scope"])
    }

    private mutating func success(withRefreshToken isRefreshable: Bool, _ scope: String?) -> MockResponse {
        let access = next("access")
        issued.append(access)
        valid.insert(access)
        var members = [#""access_token": "\#(access)", "token_type": "bearer""#]
        if let lifetime = rules.lifetime { members.append(#""expires_in": \#(lifetime)"#) }
        if isRefreshable { members.append(#""refresh_token": "\#(newRefreshToken())""#) }
        if let scope { members.append(#""scope": "\#(scope)""#) }
        return .json("{\(members.joined(separator: ", "))}", headers: ["Cache-Control": "no-store"])
    }

    // MARK: Devices

    /// Returns a new device code (RFC 8628, section 3.2).
    mutating func device(_ form: [String: String], issuer: String) -> MockResponse {
        guard let id = form["client_id"], clients[id] != nil else { return Self.refusal("invalid_client", status: 401) }
        let code = next("device")
        deviceCodes.insert(code)
        let interval = rules.deviceInterval.map { #", "interval": \#($0)"# } ?? ""
        return .json(
            #"""
            {"device_code": "\#(code)", "user_code": "WDJB-MJHT", "verification_uri": "\#(issuer)/enter",
             "verification_uri_complete": "\#(issuer)/enter?user_code=WDJB-MJHT", "expires_in": 1800\#(interval)}
            """#)
    }

    private mutating func device(_ code: String) -> MockResponse {
        guard deviceCodes.contains(code) else { return Self.refusal("invalid_grant") }
        let answer = rules.deviceAnswers.isEmpty ? .agreed : rules.deviceAnswers.removeFirst()
        guard answer == .agreed else { return Self.refusal(answer.rawValue) }
        deviceCodes.remove(code)
        return success(withRefreshToken: true, nil)
    }

    private static func refusal(_ code: String, _ text: String? = nil, status: Int = 400) -> MockResponse {
        let description = text.map { #", "error_description": "\#($0)""# } ?? ""
        return .json(#"{"error": "\#(code)"\#(description)}"#, status: status)
    }
}
