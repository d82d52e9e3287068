import CurlEngine
import FoundationEssentials
import TrellisCore

/// The rules for the responses of a token endpoint (RFC 6749, section 5).
enum TokenResponse {
    /// The longest lifetime that is believed: a hundred years, so that every date can be reckoned.
    static let longestLifetime = 100.0 * 365 * 86400

    /// Returns the object of a response.
    ///
    /// - Parameter secrets: The secrets that the request had, which an error must not repeat.
    /// - Throws: ``OAuthRefusal``, also of a response with the status 200, because some servers send errors so; ``OAuthError``.
    static func object(_ body: Data, status: Int, secrets: [String]) throws -> JSONValue {
        let value = try? JSONValue(json: body)
        if let value, let refusal = refusal(value, secrets: secrets) { throw refusal }
        guard status == 200 || status == 201 else { throw OAuthError.unacceptableStatus(status) }
        guard let value else { throw OAuthError.malformedResponse(reason: "it is not JSON") }
        guard case .object = value else { throw OAuthError.malformedResponse(reason: "it is not a JSON object") }
        return value
    }

    /// Returns the refusal that a response is; `nil` if it is none.
    static func refusal(_ value: JSONValue, secrets: [String]) -> OAuthRefusal? {
        guard let code = value["error"]?.stringValue, !code.isEmpty else { return nil }
        let text = { (name: String) in
            value[name]?.stringValue.flatMap { $0.isEmpty ? nil : ShownText.line($0, without: secrets) }
        }
        return OAuthRefusal(
            ShownText.line(code, without: secrets), explanation: text("error_description"), page: text("error_uri"))
    }

    /// Returns the token of a response.
    ///
    /// - Parameters:
    ///   - now: The instant at which the request was sent, from which the lifetime counts.
    ///   - issuer: The issuer of the server, if it is known.
    static func token(_ value: JSONValue, now: Date, issuer: String? = nil) throws(OAuthError) -> OAuthToken {
        guard let access = value["access_token"]?.stringValue, !access.isEmpty else {
            throw .malformedResponse(reason: "it has no access_token")
        }
        guard let type = value["token_type"]?.stringValue else {
            throw .malformedResponse(reason: "it has no token_type")
        }
        guard type.hasSameToken(as: "Bearer") else { throw .unacceptableTokenType(ShownText.line(type)) }
        // A token is sent in a field: visible ASCII (RFC 6749, appendix A.12).
        guard access.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .malformedResponse(reason: "the access_token has other bytes than visible ASCII")
        }
        let refresh = value["refresh_token"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        let lifetime = try lifetime(value["expires_in"])
        return OAuthToken(
            access, expiration: lifetime.map { now.addingTimeInterval($0) }, refreshToken: refresh,
            scope: value["scope"]?.stringValue, issuer: issuer)
    }

    /// Returns the lifetime in seconds, from a number or, as some servers send it, from digits in a string; `nil` if there is none.
    static func lifetime(_ value: JSONValue?) throws(OAuthError) -> Double? {
        let seconds: Double? =
            switch value {
            case nil, .null: nil
            case .integer(let number): Double(number)
            case .number(let number): number
            case .string(let text): Self.number(text)
            default: .nan
            }
        guard let seconds else { return nil }
        guard !seconds.isNaN else { throw .malformedResponse(reason: "expires_in is not a number") }
        return min(max(seconds, 0), longestLifetime)
    }

    private static func number(_ text: String) -> Double {
        guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return .nan }
        return Int(text).map(Double.init) ?? .nan
    }
}
