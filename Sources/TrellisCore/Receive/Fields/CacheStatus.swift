public import HTTPTypes

/// The way in which a cache has handled a request (RFC 9211), for the question why a response was not a hit.
///
/// ```swift
/// let (data, response) = try await session.data(url)
/// print(response.cacheStatus ?? "no cache")     // trellis; hit; ttl=30
/// ```
public struct CacheStatus: Sendable, Hashable {
    /// The reason why a request was sent (RFC 9211, section 2.2).
    public enum ForwardReason: String, Sendable, Hashable, CaseIterable {
        /// The cache was not to be asked.
        case bypass
        /// The method cannot be answered from a cache.
        case method
        /// Nothing is stored for the URL.
        case uriMiss = "uri-miss"
        /// The stored responses to the URL are for other fields of the request.
        case varyMiss = "vary-miss"
        /// A stored response is fresh, and the request demands more.
        case request
        /// The stored response is stale.
        case stale
        /// The stored response is a part of what is requested.
        case partial
    }

    /// The reason why the request was sent; `nil` if it was not.
    public var forwardReason: ForwardReason?
    /// The status of the response to the request that was sent, if the caller gets a stored one instead: 304 for one that is still valid,
    /// and the status of the server's failure for one that is stale. `nil` in all other cases.
    public var forwardStatus: HTTPResponse.Status? { forwardCode.map { HTTPResponse.Status(code: $0) } }
    /// The time for which the response stays fresh, in whole seconds; negative if it is stale. `nil` if it is not known.
    public var timeToLive: Duration? { secondsToLive.map { .seconds($0) } }
    /// The code of ``forwardStatus``.
    package var forwardCode: Int?
    /// The number of seconds of ``timeToLive``.
    package var secondsToLive: Int64?
    /// Whether the response was stored. For a stream, whether it is stored once it was read to its end.
    public var isStored = false
    /// Whether the request waited for the response to an equal one that was sent before it, and used that response.
    public var isCoalesced = false
    /// The URL under which the response is stored, without its fragment; `nil` if the cache was not asked.
    public var key: String?
    /// A further explanation, such as the reason why the response is not stored.
    public var detail: String?

    /// Whether the response was used without sending a request.
    public var isHit: Bool { forwardReason == nil && !isUnsatisfiable }
    /// Whether the response is a stored one, with or without a request that has confirmed it.
    public var isFromCache: Bool { isHit || isCoalesced || isStaleIfError || isValidated }
    /// Whether the response is a stored one that the server has confirmed with a 304.
    package var isValidated: Bool { forwardReason != nil && forwardCode == 304 }
    /// Whether a request was sent, and the server has answered it.
    package var isMiss: Bool { forwardReason != nil && !isFromCache }
    /// Whether there was neither a response nor a request, because the request must not be sent.
    package var isUnsatisfiable = false
    /// Whether a stale response was used instead of a failure.
    package var isStaleIfError = false

    package init(_ reason: ForwardReason?) { forwardReason = reason }

    /// The status of a request that must not be sent and has no stored response.
    package static let unsatisfiable: CacheStatus = {
        var status = CacheStatus(nil)
        status.isUnsatisfiable = true
        status.detail = "only-if-cached"
        return status
    }()
}

extension CacheStatus: CustomStringConvertible {
    /// The value of the field `Cache-Status` without the key, such as `trellis; fwd=stale; fwd-status=304; ttl=60`.
    public var description: String {
        var parts = ["trellis"]
        if isHit { parts.append("hit") }
        if let forwardReason { parts.append("fwd=\(forwardReason.rawValue)") }
        if let forwardCode { parts.append("fwd-status=\(forwardCode)") }
        if let secondsToLive { parts.append("ttl=\(secondsToLive)") }
        if isStored { parts.append("stored") }
        if isCoalesced { parts.append("collapsed") }
        if let detail { parts.append("detail=\(detail)") }
        return parts.joined(separator: "; ")
    }
}
