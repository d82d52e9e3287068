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
    func texts(of name: HTTPField.Name) -> [String] { storage.texts(of: name) }

    /// Returns whether the values of the fields with a name are these octets; `nil` if there are no such fields.
    func hasValues(of name: HTTPField.Name, _ values: [[UInt8]]) -> Bool? { storage.hasValues(of: name, values) }
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

    /// Returns the values of the fields with a name as ``OctetText``, or as parsed if the fields were given parsed.
    func texts(of name: HTTPField.Name) -> [String] {
        guard wire.count > 0 else { return fields[values: name] }
        var texts: [String] = []
        wire.forEach { bytes, value in
            guard bytes.hasSameLetters(as: name) else { return }
            texts.append(OctetText.text(value))
        }
        return texts
    }

    /// Returns whether the values of the fields with a name are these octets; `nil` if there are no such fields.
    func hasValues(of name: HTTPField.Name, _ values: [[UInt8]]) -> Bool? {
        guard wire.count > 0 else {
            let known = fields[values: name]
            return known.isEmpty ? nil : known.map { Array($0.utf8) } == values
        }
        var (count, isSame) = (0, true)
        wire.forEach { bytes, value in
            guard bytes.hasSameLetters(as: name) else { return }
            if count >= values.count || !value.hasSameBytes(as: values[count]) { isSame = false }
            count += 1
        }
        return count == 0 ? nil : isSame && count == values.count
    }
}

extension Span<UInt8> {
    /// Returns whether the bytes are those of an array.
    fileprivate func hasSameBytes(as other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    /// Returns whether the bytes are a name, without regard to case.
    fileprivate func hasSameLetters(as name: HTTPField.Name) -> Bool {
        let canonical = name.canonicalName.utf8.span
        guard count == canonical.count else { return false }
        for index in indices where self[index] != canonical[index] {
            guard self[index] | 0x20 == canonical[index], 0x61...0x7a ~= canonical[index] else { return false }
        }
        return true
    }
}
