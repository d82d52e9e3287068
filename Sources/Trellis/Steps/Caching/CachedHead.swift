public import FoundationEssentials
public import HTTPTypes

/// The head of a response in a cache, with what decides about its use.
public struct CachedHead: Sendable, Hashable {
    /// The status and the fields, with the times.
    var stored: StoredHead
    /// The fields of the request that the response's `Vary` names.
    public private(set) var requestHeaders: HTTPFields

    /// The status.
    public var status: HTTPResponse.Status { HTTPResponse.Status(code: stored.status) }
    /// The fields as they were received, without those that concern only the connection.
    public var headers: HTTPFields { stored.headers }
    /// The instant at which the request was sent.
    public var requestDate: Date { stored.requestTime.foundationDate }
    /// The instant at which the head was received.
    public var responseDate: Date { stored.responseTime.foundationDate }

    /// Creates a head for a storage that has kept its parts.
    public init(
        status: HTTPResponse.Status, headers: HTTPFields, requestHeaders: HTTPFields, requestDate: Date,
        responseDate: Date
    ) {
        self.init(
            StoredHead(
                status: status.code, headers: headers, requestTime: CacheTime(requestDate),
                responseTime: CacheTime(responseDate)), request: requestHeaders)
    }

    /// Creates the head of a response to a request with these fields.
    init(_ stored: StoredHead, request: HTTPFields) {
        self.stored = stored
        let names = VarySelection(of: stored.headers, request: request)?.names ?? []
        requestHeaders = request.filter { names.contains($0.name) }
    }

    /// The selection by the request's fields; `nil` if the response answers no other request.
    var selection: VarySelection? { VarySelection(of: stored.headers, request: requestHeaders) }

    /// The text that is the same for the responses of a URL that replace each other: the fields that `Vary` names, with the request's
    /// values in a comparable form.
    public var variant: String { selection?.text ?? "*" }
}

extension CacheTime {
    init(_ date: Date) { milliseconds = Int64((date.timeIntervalSince1970 * 1000).clamped(to: -1e15...1e15)) }

    var foundationDate: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        isNaN ? 0 : min(max(self, range.lowerBound), range.upperBound).rounded(.down)
    }
}
