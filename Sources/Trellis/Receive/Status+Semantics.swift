package import HTTPTypes

/// The judgements on statuses. Each is made here and nowhere else.
extension HTTPResponse.Status {
    /// The statuses that speak of the moment: the same request may be answered otherwise soon (RFC 9110, section 15; RFC 6585,
    /// section 4).
    package static let transientCodes: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// Of those, the ones that speak of the server. 408 and 429 speak of the client.
    package static let serverFaultCodes: Set<Int> = transientCodes.subtracting([408, 429])

    /// Whether the same request may be answered otherwise soon.
    package var isTransient: Bool { Self.transientCodes.contains(code) }

    /// Whether it leads elsewhere, if there is a `Location` (RFC 9110, section 15.4). 300, 304, 305 and 306 do not.
    package var isRedirect: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}
