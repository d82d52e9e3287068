import CurlEngine
import TrellisCore

/// The URLs of metadata.
enum WellKnownURL {
    /// Returns the URLs of the metadata of an issuer, in the order in which they are asked (RFC 8414, sections 3.1 and 5; OpenID Connect
    /// Discovery 1.0, section 4). The well-known part stands before the path of the issuer, and with OpenID Connect after it.
    static func metadata(ofIssuer issuer: String) throws -> [String] {
        let (origin, path) = try parts(of: issuer)
        let ours = "\(origin)/.well-known/oauth-authorization-server\(path)"
        let openID = "\(origin)\(path)/.well-known/openid-configuration"
        return path.isEmpty
            ? [ours, openID] : [ours, "\(origin)/.well-known/openid-configuration\(path)", openID]
    }

    /// Returns the URL of the metadata of a resource (RFC 9728, section 3.1).
    static func metadata(ofResource resource: String) throws -> String {
        let (origin, path) = try parts(of: resource)
        return "\(origin)/.well-known/oauth-protected-resource\(path)"
    }

    /// Returns the origin and the path of a URL; the path without a slash at its end.
    private static func parts(of text: String) throws -> (origin: String, path: String) {
        let url = try SecureURL.parsed(text)
        let path = path(of: url)
        return (url.origin, path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path)
    }

    private static func path(of url: WireURL) -> String {
        String(url.text.dropFirst(url.origin.count).prefix(beforeBytes: "?#"))
    }

    /// Returns whether metadata about a resource is about another URL: with the same origin, and with a path that is the URL's or the
    /// beginning of it, in whole segments. RFC 9728, section 3.3, asks for the same URL; APIs with many paths have one identifier for all.
    static func isResource(_ identifier: String, of resource: String) -> Bool {
        guard let found = try? WireURL(parsing: identifier), let asked = try? WireURL(parsing: resource),
            found.user == nil, found.origin.hasSameBytes(as: asked.origin)
        else { return false }
        let (start, whole) = (path(of: found), path(of: asked))
        guard whole.hasBytePrefix(start) else { return false }
        let rest = whole.utf8.dropFirst(start.utf8.count)
        return rest.isEmpty || start.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
    }
}
