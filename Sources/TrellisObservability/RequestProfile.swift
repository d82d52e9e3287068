#if Observability
import CurlEngine
import HTTPTypes
import Tracing
import TrellisCore

/// The properties that the requests with one method, to one server and with one template have in common, made once for all of them.
final class RequestProfile: Sendable {
    /// The attributes of the end of spans, for one outcome and one peer.
    private struct Outcome: Sendable {
        let kind: Series.Kind
        let peerHost: String
        let peerPort: Int
        let attributes: SpanAttributes
    }

    private final class Beginning: Sendable {
        let attributes: SpanAttributes
        init(_ attributes: SpanAttributes) { self.attributes = attributes }
    }

    /// The number of attributes of most spans.
    private static let attributeCount = 12
    /// The number of outcomes whose attributes are kept.
    private static let maximumOutcomeCount = 8

    /// The method in the request line.
    private let rawMethod: String
    /// The method if it is known, or else `_OTHER`.
    let method: String
    let server: ServerAddress
    /// The template of the URL; `nil` if there is none, or a redirect has led to another URL.
    let template: String?
    /// The name of the requests' spans: the method, and the template of the URL if there is one.
    let spanName: String
    private let beginning = LazyReference<Beginning>()
    private let outcomes = Locked<[Outcome]>([])

    fileprivate init(_ rawMethod: String, isKnown: Bool, _ server: ServerAddress, template: String?) {
        (self.rawMethod, self.server, self.template) = (rawMethod, server, template)
        method = isKnown ? rawMethod : otherValue
        let name = isKnown ? rawMethod : "HTTP"
        spanName = template.map { "\(name) \($0)" } ?? name
    }

    /// The method in a request line, if it is not one of the known ones; `nil` otherwise.
    private var originalMethod: String? { method == otherValue ? rawMethod : nil }

    fileprivate func isOf(_ rawMethod: String, _ server: ServerAddress, template: String?) -> Bool {
        self.server.port == server.port && self.rawMethod == rawMethod && self.server.address == server.address
            && self.template == template
    }

    /// Returns a series of the requests' metrics.
    func series(_ kind: Series.Kind) -> Series {
        Series(kind: kind, method: method, server: server, template: template ?? "")
    }

    /// The attributes of the beginning of each span, with room for the request's. To copy them takes a part of the time that it
    /// takes to hash their names.
    var startAttributes: SpanAttributes {
        if let known = beginning.load() { return known.attributes }
        var attributes = SpanAttributes([:])
        attributes.reserveCapacity(Self.attributeCount)
        attributes.set(AttributeName.method, value: .string(method))
        attributes.set(AttributeName.serverAddress, value: .string(server.address))
        if server.port > 0 { attributes.set(AttributeName.serverPort, value: .int64(Int64(server.port))) }
        if let originalMethod { attributes.set(AttributeName.originalMethod, value: .string(originalMethod)) }
        if let template { attributes.set(AttributeName.urlTemplate, value: .string(template)) }
        return beginning.storeIfNil(Beginning(attributes)).attributes
    }

    /// Returns the attributes of the end of a span.
    ///
    /// - Parameter kind: The kind of the outcome, `end`.
    func endAttributes(_ kind: Series.Kind, _ outcome: ExchangeOutcome) -> SpanAttributes {
        let (host, port) = (outcome.metrics.peerHost, outcome.metrics.peerPort)
        let found = outcomes.withLock { outcomes -> SpanAttributes? in
            for known in outcomes where known.kind == kind && known.peerPort == port && known.peerHost == host {
                return known.attributes
            }
            return nil
        }
        if let found { return found }
        let made = outcome.attributes
        outcomes.withLock { outcomes in
            // A server with many addresses does not keep the attributes of each.
            if outcomes.count == Self.maximumOutcomeCount { outcomes = [] }
            outcomes.append(Outcome(kind: kind, peerHost: host, peerPort: port, attributes: made))
        }
        return made
    }
}

extension ExchangeOutcome {
    /// The attributes of the end of a span.
    fileprivate var attributes: SpanAttributes {
        var attributes = SpanAttributes([:])
        if let status { attributes.set(AttributeName.statusCode, value: .int64(Int64(status))) }
        if let errorType { attributes.set(AttributeName.errorType, value: .string(errorType)) }
        if let version { attributes.set(AttributeName.protocolVersion, value: .string(version.rawValue)) }
        let (host, port) = (metrics.peerHost, metrics.peerPort)
        if !host.isEmpty { attributes.set(AttributeName.peerAddress, value: .string(host)) }
        if !host.isEmpty, port > 0 { attributes.set(AttributeName.peerPort, value: .int64(Int64(port))) }
        return attributes
    }
}

/// The profiles of the latest requests. They are compared one after the other, so that there are few of them.
final class RequestProfiles: Sendable {
    /// The number of profiles that are kept. A session with more servers makes some of them for each request.
    static let maximumCount = 16

    private let knownMethods: Set<String>
    private let profiles = Locked<[RequestProfile]>([])

    init(_ settings: Observability) { knownMethods = settings.knownMethods }

    /// Returns the profile of a request.
    ///
    /// - Parameter template: The template of its URL; `nil` if there is none.
    func profile(of request: Request, template: String?) -> RequestProfile {
        // Methods are case-sensitive (RFC 9110, section 9.1).
        let (method, server) = (request.method.rawValue, ServerAddress(of: request.url))
        let found = profiles.withLock { profiles -> RequestProfile? in
            for profile in profiles where profile.isOf(method, server, template: template) { return profile }
            return nil
        }
        if let found { return found }
        let made = RequestProfile(method, isKnown: knownMethods.contains(method), server, template: template)
        profiles.withLock { profiles in
            if profiles.count == Self.maximumCount { profiles = [] }
            profiles.append(made)
        }
        return made
    }
}
#endif
