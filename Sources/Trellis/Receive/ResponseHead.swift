package import CurlEngine
public import HTTPTypes
private import Synchronization

/// The head of a response: the status and the fields.
///
/// The fields stay bytes until they are read for the first time.
public struct ResponseHead: Sendable {
    /// The status: any three digits, from 100 on.
    public var status: HTTPResponse.Status { storage.status }
    /// The version of HTTP that the head was sent with.
    public var version: HTTPVersion { storage.version }

    // A single reference, because a head is passed on often.
    private let storage: HeadStorage

    /// Creates a head, for transports and tests.
    public init(status: HTTPResponse.Status, headers: HTTPFields = HTTPFields(), version: HTTPVersion = .http1_1) {
        storage = HeadStorage(status, version, headers)
    }

    /// Creates a head from the bytes of the transport.
    package init(_ head: consuming WireHead) {
        storage = HeadStorage(
            HTTPResponse.Status(code: head.status, receivedReason: head.reason), HTTPVersion(head.version), head.fields)
    }

    /// The fields in the order of their arrival; a name that was repeated is repeated.
    public var headers: HTTPFields { storage.fields }

    /// Returns the values of the fields with a name exactly as they were received, as ``OctetText``.
    ///
    /// An `HTTPField` has blanks in place of the control characters that were received, which cannot be recognized any more.
    func texts(of name: HTTPField.Name) -> [String] { octets(of: name).map { OctetText.text($0.span) } }

    /// Returns the octets of the values of the fields with a name, exactly as they were received.
    func octets(of name: HTTPField.Name) -> [[UInt8]] { storage.octets(of: name) }
}

extension HTTPResponse.Status {
    /// Creates a status with the reason phrase that was received.
    ///
    /// The status of most responses is a constant, for which the characters of the phrase need no check.
    fileprivate init(code: Int, receivedReason reason: String) {
        self = code == 200 && reason == "OK" ? .ok : HTTPResponse.Status(code: code, reasonPhrase: reason)
    }
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

/// The parts of a head. The fields are parsed once, when they are read for the first time on any thread.
private final class HeadStorage: Sendable {
    private final class Parsed: Sendable {
        let fields: HTTPFields
        init(_ fields: HTTPFields) { self.fields = fields }
    }

    let status: HTTPResponse.Status
    let version: HTTPVersion
    /// The fields as bytes; empty if the fields were given parsed.
    private let wire: WireFields
    private let parsed = AtomicLazyReference<Parsed>()

    /// Creates a head whose fields are parsed when they are first read.
    init(_ status: HTTPResponse.Status, _ version: HTTPVersion, _ wire: WireFields) {
        self.status = status
        self.version = version
        self.wire = wire
    }

    /// Creates a head whose fields are parsed already.
    init(_ status: HTTPResponse.Status, _ version: HTTPVersion, _ fields: HTTPFields) {
        self.status = status
        self.version = version
        wire = WireFields()
        _ = parsed.storeIfNil(Parsed(fields))
    }

    /// The parsed fields.
    var fields: HTTPFields {
        if let parsed = parsed.load() { return parsed.fields }
        return parsed.storeIfNil(Parsed(HTTPFields(wire))).fields
    }

    /// Returns the octets of the values of the fields with a name, as they were received or given.
    func octets(of name: HTTPField.Name) -> [[UInt8]] {
        guard wire.count > 0 else { return fields[values: name].map { Array($0.utf8) } }
        return wire.values(of: name.canonicalName)
    }
}
