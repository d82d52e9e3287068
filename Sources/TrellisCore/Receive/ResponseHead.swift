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
        storage = HeadStorage(status: status, version, headers)
    }

    /// Creates the head of a stored response, which has its age in seconds instead of the fields `Age` that were received.
    package init(status: HTTPResponse.Status, headers: HTTPFields, age: Int64) {
        storage = HeadStorage(status: status, .http1_1, .aged(headers, seconds: age))
    }

    /// Creates a head from the bytes of the transport.
    package init(_ head: consuming WireHead) {
        storage = HeadStorage(
            status: HTTPResponse.Status(code: head.status, receivedReason: head.reason), HTTPVersion(head.version),
            .wire(head.fields))
    }

    /// The fields in the order of their arrival; a name that was repeated is repeated.
    public var headers: HTTPFields { storage.fields }

    /// Returns at least the fields whose names have certain lengths, without parsing all others.
    ///
    /// - Parameter nameLengths: The lengths below 64, each as a bit.
    package func headers(nameLengths: UInt64) -> HTTPFields { storage.fields(nameLengths: nameLengths) }

    /// The fields as bytes; `nil` if the head was made of other fields.
    package var wireFields: WireFields? { storage.wireFields }

    /// The number of bytes of the fields, about.
    package var fieldSize: Int { storage.size }

    /// Returns the values of the fields with a name exactly as they were received, as ``OctetText``.
    ///
    /// An `HTTPField` has blanks instead of the control characters that were received, which cannot be recognized any more.
    package func texts(of name: HTTPField.Name) -> [String] { octets(of: name).map { OctetText.text($0.span) } }

    /// Returns the octets of the values of the fields with a name, exactly as they were received.
    package func octets(of name: HTTPField.Name) -> [[UInt8]] { storage.octets(of: name) }
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
    /// The fields before they are first read.
    enum Source {
        /// The fields as bytes.
        case wire(WireFields)
        /// The fields of a stored response, without its age.
        case aged(HTTPFields, seconds: Int64)
        /// The fields, which were given parsed.
        case parsed(HTTPFields)
    }

    let status: HTTPResponse.Status
    let version: HTTPVersion
    private let source: Source
    private let parsed = LazyReference<Boxed<HTTPFields>>()

    /// Creates a head whose fields are made when they are first read.
    init(status: HTTPResponse.Status, _ version: HTTPVersion, _ source: Source) {
        self.status = status
        self.version = version
        self.source = source
    }

    /// Creates a head whose fields are parsed already.
    init(status: HTTPResponse.Status, _ version: HTTPVersion, _ fields: HTTPFields) {
        self.status = status
        self.version = version
        source = .parsed(fields)
    }

    /// The parsed fields.
    var fields: HTTPFields {
        if case .parsed(let fields) = source { return fields }
        if let parsed = parsed.load() { return parsed.value }
        return parsed.storeIfNil(Boxed(made)).value
    }

    func fields(nameLengths: UInt64) -> HTTPFields {
        guard case .wire(let wire) = source else { return fields }
        return HTTPFields(wire, nameLengths: nameLengths)
    }

    var wireFields: WireFields? { if case .wire(let wire) = source { wire } else { nil } }

    var size: Int {
        guard case .wire(let wire) = source else {
            return fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 3 }
        }
        return wire.bytes.count
    }

    private var made: HTTPFields {
        switch source {
        case .wire(let fields): return HTTPFields(fields)
        case .aged(var fields, let seconds):
            fields[values: .age] = ["\(seconds)"]
            return fields
        case .parsed(let fields): return fields
        }
    }

    /// Returns the octets of the values of the fields with a name, as they were received or given.
    func octets(of name: HTTPField.Name) -> [[UInt8]] {
        guard case .wire(let wire) = source, wire.count > 0 else { return fields[values: name].map { Array($0.utf8) } }
        return wire.values(of: name.canonicalName)
    }
}
