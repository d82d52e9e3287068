import HTTPTypes

/// The rules for usernames, passwords and tokens in credentials. `HTTPField` would send blanks instead of line ends, and so
/// other credentials than the caller's.
enum CredentialText {
    /// Checks that a username for Basic has neither control characters nor a colon (RFC 7617, section 2). The same section forbids control
    /// characters in passwords. But servers ask for such passwords, for example a key as JSON with line ends, and the field has Base64.
    static func check(basicName username: String) throws(TrellisError) {
        try check(username)
        if username.utf8.contains(UInt8(ascii: ":")) { throw failure("a colon cannot be in a user's name") }
    }

    /// Checks that a token has no control characters except tabs, as in any field (RFC 9110, section 5.5).
    static func check(token: String) throws(TrellisError) { try check(token, isTabAllowed: true) }

    /// Checks that a username for Digest has no control characters, because the name is sent in quotes. The password is not sent.
    static func check(digestName: String, for request: Request) throws(TrellisError) {
        do {
            try check(digestName)
        } catch {
            var error = error
            (error.method, error.url) = (request.method, URLRedaction.redact(request.url))
            throw error
        }
    }

    /// Checks that a text has no control characters.
    static func check(_ text: String, isTabAllowed: Bool = false) throws(TrellisError) {
        let isWrong = text.utf8.contains { $0 < 0x20 && !($0 == 0x09 && isTabAllowed) || $0 == 0x7f }
        if isWrong { throw failure("the credentials contain a control character") }
    }

    private static func failure(_ detail: String) -> TrellisError {
        var error = TrellisError(.invalidRequest(.headerField(HTTPField.Name.authorization.rawName)))
        error.detail = detail
        return error
    }
}

extension Request {
    /// Returns a copy with a field, or, if the check throws, a copy that fails when it is sent.
    func withHeader(_ field: HTTPField, checking check: () throws(TrellisError) -> Void) -> Request {
        do {
            try check()
            return withHeader(field)
        } catch {
            return failing(with: error)
        }
    }
}
