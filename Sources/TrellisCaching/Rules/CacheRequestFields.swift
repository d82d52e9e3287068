import HTTPTypes
import TrellisCore

/// The fields of a request as they are to be sent, with what a cache reads in them.
struct CacheRequestFields: Sendable {
    /// The fields that decide about the use of a cache, besides `Cache-Control` and `Pragma`.
    struct Presence: OptionSet, Sendable {
        let rawValue: UInt8

        static let authorization = Presence(rawValue: 1)
        static let range = Presence(rawValue: 2)
        static let ifRange = Presence(rawValue: 4)
        /// `If-None-Match` and `If-Modified-Since`, which a stored response can meet with a 304.
        static let ifChanged = Presence(rawValue: 8)
        /// `If-Match` and `If-Unmodified-Since`, which only the origin can decide (RFC 9111, section 4.3.2).
        static let ifUnchanged = Presence(rawValue: 16)
        /// A secret field that is not a `Cookie`.
        static let secret = Presence(rawValue: 32)
        static let cookie = Presence(rawValue: 64)
        static let host = Presence(rawValue: 128)
        /// The fields that separate the responses to a request from the responses to others.
        static let secrets: Presence = [.secret, .cookie]

        /// The fields that make a request conditional (RFC 9110, section 13.1).
        static let conditions: Presence = [.ifRange, .ifChanged, .ifUnchanged]
    }

    /// The fields.
    let headers: HTTPFields
    /// The directives of `Cache-Control`, or of `Pragma: no-cache` without it (RFC 9111, section 5.4).
    let directives: CacheDirectives
    /// The fields that are present.
    let presence: Presence

    init(_ headers: HTTPFields) {
        var presence: Presence = []
        var hasDirectives = false
        for field in headers {
            if field.indexingStrategy == .disallow { presence.insert(.secret) }
            switch field.name.canonicalName {
            // The fields of nearly all requests are no secrets.
            case "accept", "accept-encoding", "accept-language", "content-type", "user-agent": break
            case "authorization": presence.formUnion([.authorization, .secret])
            case "cookie": presence.insert(.cookie)
            case "host": presence.insert(.host)
            case "range": presence.insert(.range)
            case "if-range": presence.insert(.ifRange)
            case "if-none-match", "if-modified-since": presence.insert(.ifChanged)
            case "if-match", "if-unmodified-since": presence.insert(.ifUnchanged)
            case "cache-control", "pragma": hasDirectives = true
            default: if SecretFields.isSecret(field) { presence.insert(.secret) }
            }
        }
        self.headers = headers
        self.presence = presence
        directives = hasDirectives ? CacheDirectives(request: headers) : CacheDirectives()
    }

    /// Whether the request is conditional.
    var isConditional: Bool { !presence.isDisjoint(with: .conditions) }
}

extension CacheDirectives {
    /// Creates the directives of a request: from `Cache-Control`, or without it from `Pragma: no-cache` (RFC 9111, section 5.4).
    fileprivate init(request headers: HTTPFields) {
        let lines = headers[values: .cacheControl]
        self.init(parsing: lines)
        guard lines.isEmpty, let pragma = HTTPField.Name("Pragma") else { return }
        if CacheDirectives(parsing: headers[values: pragma]).contains(.noCache) { add("no-cache") }
    }
}
