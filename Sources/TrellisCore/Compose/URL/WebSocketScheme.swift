import CurlEngine

extension String {
    /// The URL with the scheme `http` instead of `ws`, and `https` instead of `wss`.
    var withHTTPScheme: String {
        guard let mark = schemeMark else { return self }
        switch self[..<mark.lowerBound].lowercasedASCII() {
        case "ws": return "http" + self[mark.lowerBound...]
        case "wss": return "https" + self[mark.lowerBound...]
        default: return self
        }
    }

    /// The URL with the scheme `ws` instead of `http`, and `wss` instead of `https`.
    var withWebSocketScheme: String {
        guard let mark = schemeMark else { return self }
        switch self[..<mark.lowerBound].lowercasedASCII() {
        case "http": return "ws" + self[mark.lowerBound...]
        case "https": return "wss" + self[mark.lowerBound...]
        default: return self
        }
    }
}
