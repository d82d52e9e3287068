package import CurlEngine
public import HTTPTypes
private import Synchronization

/// The head of a response: status and fields.
///
/// The fields stay bytes until they are asked for the first time.
public struct ResponseHead: Sendable {
    /// Any three digits, from 100 on.
    public let status: HTTPResponse.Status
    /// The version of HTTP that carried it.
    public let version: HTTPVersion
    private let fields: LazyFields

    /// A head, for transports and tests.
    public init(status: HTTPResponse.Status, headerFields: HTTPFields = [:], version: HTTPVersion = .http1_1) {
        self.status = status
        self.version = version
        fields = LazyFields(headerFields)
    }

    package init(_ head: WireHead) {
        status = HTTPResponse.Status(code: head.status, reasonPhrase: head.reason ?? "")
        version = HTTPVersion(head.version)
        fields = LazyFields(head.fields)
    }

    /// The fields in the order of their arrival, repeated names repeated.
    public var headerFields: HTTPFields { fields.value }
}

extension HTTPVersion {
    init(_ version: WireVersion) {
        self =
            switch version {
            case .http1_0: .http1_0
            case .http1_1: .http1_1
            case .http2: .http2
            case .http3: .http3
            }
    }
}

/// Fields that are parsed when they are first asked for, once, whoever asks.
package final class LazyFields: Sendable {
    private final class Parsed: Sendable {
        let fields: HTTPFields
        init(_ fields: HTTPFields) { self.fields = fields }
    }

    private let wire: WireFields
    private let parsed = AtomicLazyReference<Parsed>()

    package init(_ wire: WireFields) { self.wire = wire }

    package init(_ fields: HTTPFields) {
        wire = WireFields()
        _ = parsed.storeIfNil(Parsed(fields))
    }

    package var value: HTTPFields {
        if let parsed = parsed.load() { return parsed.fields }
        return parsed.storeIfNil(Parsed(HTTPFields(wire))).fields
    }
}
