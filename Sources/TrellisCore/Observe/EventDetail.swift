/// The detail of the events that an observer gets. Each detail includes the ones before it.
///
/// Events that no observer asks for are not made, so a monitor that needs few of them costs little (``EventMonitor/eventDetail``).
public enum EventDetail: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// The course of calls: all kinds of events that are not listed for the other two details.
    case calls = 1
    /// The requests on the wire and their responses, too: `endpointSelected`, `proxySelected`, `alternativeSelected`,
    /// `alternativeFailed`, `trustFilesChanged`, `queued`, `admitted`, `informational`, `head` and `exchangeEnded`.
    case exchanges
    /// The connections, too, which means all events: `lookingUp`, `lookedUp`, `connecting`, `egressRefused`, `handshaking`,
    /// `connectionAdded`, `serverTrustReported`, `evaluatingServerTrust`, `serverTrustEvaluated`, `connected`, `requestHeadSent` and
    /// `requestSent`.
    case connections

    /// Returns whether a detail includes fewer kinds of events than another one.
    public static func < (left: EventDetail, right: EventDetail) -> Bool { left.rawValue < right.rawValue }
}

extension RequestEvent.Kind {
    /// The detail that an observer asks for to get the event.
    var detail: EventDetail {
        switch self {
        case .created, .resumed, .suspended, .adapted, .upgraded, .redirected, .retrying, .rateLimited, .circuitOpened,
            .circuitClosed, .endpointEjected, .endpointReturned, .concurrencyLimited, .concurrencyReduced, .hedging,
            .coalesced, .cacheUsed, .cacheFailed,
            .cookiesFailed, .bodyReceived, .finished, .validated, .serialized, .downloadContinued, .fileMoved, .failed,
            .eventsDropped:
            .calls
        case .endpointSelected, .alternativeSelected, .alternativeFailed, .proxySelected, .trustFilesChanged, .queued,
            .admitted, .informational, .head, .exchangeEnded:
            .exchanges
        case .lookingUp, .lookedUp, .connecting, .egressRefused, .handshaking, .connectionAdded, .serverTrustReported,
            .evaluatingServerTrust, .serverTrustEvaluated, .connected, .requestHeadSent, .requestSent:
            .connections
        }
    }
}
