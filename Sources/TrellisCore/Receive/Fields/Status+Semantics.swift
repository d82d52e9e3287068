import CurlEngine
package import HTTPTypes

extension ResponseHead {
    /// The targets of a redirect; empty if the response is none. An empty `Location` counts as none, as in browsers.
    package var redirectTargets: [String] {
        status.isRedirect ? headers[fields: .location].map(\.urlReference).filter { !$0.isEmpty } : []
    }
}

/// The classification of statuses. Each property is decided here and nowhere else.
extension HTTPResponse.Status {
    /// The statuses of temporary failures: the same request may soon get another status (RFC 9110, section 15; RFC 6585, section 4).
    package static let transientCodes: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// The transient statuses that are about the server. 408 and 429 are about the client.
    package static let serverFaultCodes: Set<Int> = transientCodes.subtracting([408, 429])

    /// Whether the same request may soon get another status.
    package var isTransient: Bool { Self.transientCodes.contains(code) }

    /// Whether the status is a redirect if there is a `Location` (RFC 9110, section 15.4). 300, 304, 305 and 306 are not.
    package var isRedirect: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Returns the status with a code and its registered phrase, for a response whose own phrase is not known; without a phrase if none is
    /// registered.
    package static func registered(_ code: Int) -> HTTPResponse.Status {
        if code == 200 { return .ok }
        let phrase = successPhrases[code] ?? TrellisError.phrase(of: code) ?? ""
        return HTTPResponse.Status(code: code, reasonPhrase: phrase)
    }

    /// The phrases of the IANA registry of status codes below 300.
    private static let successPhrases = [
        201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
        206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
    ]

    /// Returns whether a final response with this status to a request with a method has no body, whatever its fields say (RFC 9112,
    /// section 6.3).
    package func hasNoBody(after method: HTTPRequest.Method) -> Bool {
        WireHead.hasNoBody(method: method.rawValue, status: code)
    }
}
