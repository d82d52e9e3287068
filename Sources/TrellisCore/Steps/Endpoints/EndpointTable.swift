import CurlEngine

/// The origins of a session that have several endpoints.
final class EndpointTable: Sendable {
    /// The groups by origin, as URLs name it.
    private let groups: [String: EndpointGroup]
    /// The error of a key that names no origin, if any.
    private let failure: TrellisError?

    /// - Parameter make: Makes the group of an origin.
    init(_ pools: [String: EndpointPool], make: (EndpointPool, WireURL) -> EndpointGroup) {
        var (groups, failure): ([String: EndpointGroup], TrellisError?) = ([:], nil)
        for (key, pool) in pools {
            guard let url = try? WireURL(parsing: key) else {
                let text = URLRedaction.redact(key)
                failure = .invalidRoute("\"\(text)\" does not name an origin of endpoints, such as https://example.com")
                continue
            }
            groups[url.origin] = make(pool, url)
        }
        (self.groups, self.failure) = (groups, failure)
        mayWait = groups.values.contains(where: \.mayWait)
    }

    /// Whether a request may have to wait for the endpoints of its origin.
    let mayWait: Bool

    /// The groups in the order of their origins.
    var all: [EndpointGroup] { groups.values.sorted { $0.origin < $1.origin } }

    /// Returns the endpoints of the origin of a URL; `nil` if it has none.
    ///
    /// - Throws: The error of a key that names no origin.
    func group(of url: WireURL) throws(TrellisError) -> EndpointGroup? {
        if let failure { throw failure }
        return groups[url.origin]
    }

    /// Returns whether the origin of a URL has endpoints.
    func contains(_ url: String) -> Bool { (try? WireURL(parsing: url)).map { groups[$0.origin] != nil } ?? false }

    /// Asks the sources no more.
    func end() { for group in groups.values { group.end() } }
}
