extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A text with the name and the attributes of the cookie, without its value.
    public var description: String {
        var text = name.isEmpty ? "REDACTED" : "\(name)=REDACTED"
        text += "; \(isHostOnly ? "Host" : "Domain")=\(domain); Path=\(path)"
        if let expires { text += "; Expires=\(expires)" }
        if isSecure { text += "; Secure" }
        if isHTTPOnly { text += "; HttpOnly" }
        if sameSite != .unspecified { text += "; SameSite=\(sameSite.rawValue)" }
        return text
    }

    /// The same text as ``description``.
    public var debugDescription: String { description }

    /// A mirror without the value of the cookie, for `dump` and debuggers.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "name": name, "value": "REDACTED", "domain": domain, "isHostOnly": isHostOnly, "path": path,
                "isSecure": isSecure, "isHTTPOnly": isHTTPOnly, "sameSite": sameSite, "expires": expires as Any,
                "created": created, "lastAccessed": lastAccessed,
            ] as KeyValuePairs<String, Any>, displayStyle: .struct)
    }
}
