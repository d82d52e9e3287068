import CurlEngine

extension Request {
    /// The host that limits per host count by: the host in lower case, and the port unless it is the scheme's default. Empty for
    /// a relative URL.
    var limitedHost: String { Self.limitedHost(of: url) }

    /// Returns the ``limitedHost`` of a URL.
    @inline(never)
    static func limitedHost(of url: String) -> String {
        let reference = URLReference(url)
        guard let authority = reference.authority?.lowercased() else { return "" }
        let host =
            authority.lastIndex(ofByte: "@").map { String(authority[authority.utf8.index(after: $0)...]) } ?? authority
        let port = reference.scheme?.lowercased() == "https" ? ":443" : ":80"
        if host.hasSuffix(port) { return String(host.dropLast(port.count)) }
        return host.hasSuffix(":") ? String(host.dropLast()) : host
    }
}
