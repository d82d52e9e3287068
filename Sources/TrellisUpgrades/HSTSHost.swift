import CurlEngine
public import FoundationEssentials
import TrellisCore

/// A host that is to be reached over https alone, as an ``HSTSStore`` knows it (RFC 6797, section 5.3).
public struct HSTSHost: Sendable, Hashable {
    /// The name of the host, in lower case and ASCII, without a dot at its end.
    public let name: String
    /// Whether the subdomains of the host are included.
    public let includesSubdomains: Bool
    /// The date until which the host is known; `nil` for a host without an end.
    public let expires: Date?

    /// Creates a host for ``HSTSStore/insert(_:)``.
    ///
    /// - Parameters:
    ///   - name: The name, which may be international; a dot at its end is dropped.
    ///   - includesSubdomains: Whether the subdomains of the host are included. The default is `false`.
    ///   - expires: The date until which the host is known; `nil`, the default, for a host without an end.
    /// - Returns: `nil` if the text is an IP address, or cannot be the name of a host.
    public init?(name: String, includesSubdomains: Bool = false, expires: Date? = nil) {
        guard let name = Self.canonical(name) else { return nil }
        self.init(canonical: name, includesSubdomains: includesSubdomains, expires: expires)
    }

    init(canonical name: String, includesSubdomains: Bool, expires: Date?) {
        self.name = name
        self.includesSubdomains = includesSubdomains
        self.expires = expires
    }

    /// Returns a name in the form in which names are compared (RFC 6797, sections 8.2 and 9); `nil` for an address, and for a text that
    /// cannot be a name.
    static func canonical(_ name: String) -> String? {
        let name = name.withoutFinalDot
        guard !name.hasBytePrefix("."), let ascii = name.asciiHost, let domain = CookieDomain.canonical(ascii),
            domain.utf8.count <= 255, !CookieDomain.isAddress(domain)
        else { return nil }
        return domain
    }

    /// Returns whether the host is known at a date.
    func isKnown(at now: Date) -> Bool { expires.map { now < $0 } ?? true }
}
