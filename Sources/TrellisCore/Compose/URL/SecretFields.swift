import CurlEngine
import HTTPTypes

/// The rules that recognise secret fields and items.
package enum SecretFields {
    /// The names of secret fields, in lower case.
    private static let names: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth", "dpop", "x-session",
    ]
    /// The texts in a name, in lower case and without `-` and `_`, that mark its value as secret.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "authkey", "functionskey",
        "privatekey", "subscriptionkey", "signature", "credential", "assertion", "samlresponse", "codeverifier",
        "sessionid", "jwt", "devicecode", "usercode",
    ]
    /// The words that mark a value as secret if a name is one of them, or ends with one of them after a `-` or `_`, in lower case: within
    /// other words they mean nothing.
    private static let words: Set<String> = ["otp", "totp", "hotp", "pin", "cvv", "cvv2", "cvc", "cvc2", "hmac"]
    /// The ends of the names of fields whose values are URLs, in lower case and without `-` and `_`.
    private static let namesOfURLs = ["location", "referer", "refresh", "destination", "asyncoperation", "url", "uri"]

    /// Returns `true` if a field is a secret, by its name or by its mark: a field that no compression table may hold
    /// (RFC 7541, section 7.1.3).
    package static func isSecret(_ field: HTTPField) -> Bool {
        let name = field.name.canonicalName
        return field.indexingStrategy == .disallow || names.contains(name) || marksSecret(name)
            || name.hasByteSuffix("-authorization")
    }

    /// Returns `true` if a name, of a field or an item, indicates that its value is a secret.
    ///
    /// - Parameter name: The name in lower case; `-` and `_` are ignored.
    package static func marksSecret(_ name: String) -> Bool {
        if endsWithWord(name) { return true }
        let name = joined(name)
        return parts.contains { name.containsBytes($0) }
    }

    /// Returns `true` if the last word of a name indicates that its value is a secret.
    ///
    /// - Parameter name: The name in lower case; `-` and `_` are ignored.
    static func endsAsSecret(_ name: String) -> Bool {
        if endsWithWord(name) { return true }
        let name = joined(name)
        return parts.contains { name.hasByteSuffix($0) }
    }

    private static func endsWithWord(_ name: String) -> Bool {
        let start = name.utf8.lastIndex { "-_".utf8.contains($0) }.map { name.utf8.index(after: $0) }
        return words.contains(String(name[(start ?? name.startIndex)...]))
    }

    /// Returns `true` if the value of a field is a URL or has URLs, which may hold secrets.
    static func mayHoldURLs(_ name: HTTPField.Name) -> Bool {
        let name = joined(name.canonicalName)
        return name == "link" || isNameOfURL(name)
    }

    /// Returns whether a name, without `-` and `_`, names a field whose value is a URL.
    private static func isNameOfURL(_ name: String) -> Bool {
        namesOfURLs.contains { name.utf8.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }

    /// Returns the value without its secrets. The scheme of credentials (RFC 9110, section 11.4) is kept, and so is the rest of a
    /// URL.
    package static func redacted(_ field: HTTPField) -> String {
        guard isSecret(field) else { return redactedURLs(of: field) }
        guard field.name == .authorization || field.name == .proxyAuthorization else { return "REDACTED" }
        let words = field.value.split(atByte: " ", maxSplits: 1)
        return words.count == 2 && isScheme(words[0]) ? "\(words[0]) REDACTED" : "REDACTED"
    }

    /// Returns whether a word looks like the name of a scheme, such as `Bearer` or `AWS4-HMAC-SHA256`, and not like a token that stands
    /// without one: short, and with digits only where it names a hash function.
    private static func isScheme(_ word: Substring) -> Bool {
        // A digit and a hyphen have the bit of lower case already.
        let letters = word.utf8.map { $0 | 0x20 }
        guard letters.count <= 24, letters.allSatisfy({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2D }) else {
            return false
        }
        let namesHash = String(decoding: letters, as: UTF8.self).containsBytes("-sha")
        return namesHash || letters.allSatisfy { !(0x30...0x39 ~= $0) }
    }

    /// Returns the value of a field that is not a secret itself, without the secrets of its URLs.
    private static func redactedURLs(of field: HTTPField) -> String {
        let name = joined(field.name.canonicalName)
        if name == "link" { return redactedLinks(field.value) }
        guard isNameOfURL(name) else { return field.value }
        // The URL of `Refresh` follows a time: `5; url=https://example.com/`.
        guard name == "refresh", let start = endOfURLParameterName(field.value) else {
            return URLRedaction.redact(field.value)
        }
        return String(field.value[..<start]) + URLRedaction.redact(String(field.value[start...]))
    }

    /// Returns the value of a `Link` field (RFC 8288, section 3) without the secrets of its URLs.
    private static func redactedLinks(_ value: String) -> String {
        var result = ""
        var rest = value[...]
        while let mark = rest.firstIndex(ofByte: "<") {
            let start = rest.utf8.index(after: mark)
            let url = rest[start...].prefix(beforeBytes: ">")
            result += redactedParameters(rest[..<start]) + URLRedaction.redact(String(url))
            rest = rest[url.endIndex...]
        }
        return result + redactedParameters(rest)
    }

    /// Returns the text between the targets of links without secrets: the parameter `anchor` is a URL as well.
    private static func redactedParameters(_ text: Substring) -> String {
        let mayHoldURL = text.utf8.contains { "?@".utf8.contains($0) } || text.lowercasedASCII().containsBytes("anchor")
        return mayHoldURL ? URLRedaction.redact(String(text)) : String(text)
    }

    /// Returns the index after the first `url=`; `nil` if the value has none.
    private static func endOfURLParameterName(_ value: String) -> String.Index? {
        var rest = value.utf8[...]
        while rest.count >= 4 {
            let letters = rest.prefix(3).map { $0 | 0x20 }
            if letters.elementsEqual("url".utf8), rest.dropFirst(3).first == UInt8(ascii: "=") {
                return rest.index(rest.startIndex, offsetBy: 4)
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Returns a name without `-` and `_`.
    private static func joined(_ name: String) -> String {
        String(decoding: name.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }, as: UTF8.self)
    }
}
