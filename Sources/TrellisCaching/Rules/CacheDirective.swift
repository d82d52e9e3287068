import CurlEngine
import TrellisCore

/// A directive of `Cache-Control` that a cache acts upon (RFC 9111, section 5.2; RFC 5861; RFC 8246).
enum CacheDirective: UInt8, CaseIterable, Sendable {
    case maxAge
    case sharedMaxAge
    case minFresh
    case maxStale
    case staleWhileRevalidate
    case staleIfError
    case noStore
    case noCache
    case onlyIfCached
    case immutable
    case `private`
    case `public`
    case mustRevalidate
    case mustUnderstand
    case proxyRevalidate

    /// The names of all directives, in their order.
    private static let names: [[UInt8]] = allCases.map { Array($0.name.utf8) }

    /// The name, in lower case.
    var name: String {
        switch self {
        case .maxAge: "max-age"
        case .sharedMaxAge: "s-maxage"
        case .minFresh: "min-fresh"
        case .maxStale: "max-stale"
        case .staleWhileRevalidate: "stale-while-revalidate"
        case .staleIfError: "stale-if-error"
        case .noStore: "no-store"
        case .noCache: "no-cache"
        case .onlyIfCached: "only-if-cached"
        case .immutable: "immutable"
        case .private: "private"
        case .public: "public"
        case .mustRevalidate: "must-revalidate"
        case .mustUnderstand: "must-understand"
        case .proxyRevalidate: "proxy-revalidate"
        }
    }

    /// The directive as a bit of a set.
    var bit: UInt16 { 1 << UInt16(rawValue) }

    /// Returns the directive with a name in lower case; `nil` if there is none.
    static func named(_ name: Span<UInt8>) -> CacheDirective? {
        guard let candidate = candidate(name), name.hasSameBytes(as: names[Int(candidate.rawValue)]) else { return nil }
        return candidate
    }

    /// Returns the one directive that a name can be, by its length and one of its bytes.
    private static func candidate(_ name: Span<UInt8>) -> CacheDirective? {
        switch name.count {
        case 6: return .public
        case 7: return name[0] == UInt8(ascii: "m") ? .maxAge : .private
        case 8:
            if name[3] == UInt8(ascii: "s") { return .noStore }
            return name[3] == UInt8(ascii: "c") ? .noCache : .sharedMaxAge
        case 9:
            if name[1] == UInt8(ascii: "i") { return .minFresh }
            return name[1] == UInt8(ascii: "a") ? .maxStale : .immutable
        case 14: return name[0] == UInt8(ascii: "o") ? .onlyIfCached : .staleIfError
        case 15: return name[5] == UInt8(ascii: "r") ? .mustRevalidate : .mustUnderstand
        case 16: return .proxyRevalidate
        case 22: return .staleWhileRevalidate
        default: return nil
        }
    }
}
