import HTTPTypes
import NIOCore

/// The head of a client's request (RFC 9112, sections 2 to 5). The parser accepts what the grammar allows, and nothing else: a request that
/// two recipients could read in two ways is refused.
struct RequestHead: Sendable {
    let method: HTTPRequest.Method
    let target: RequestTarget
    /// Whether the client has sent HTTP/1.0.
    let isHTTP1_0: Bool
    /// The fields in the order of their arrival.
    let fields: HTTPFields
    let framing: BodyFraming

    /// The largest number of bytes of a head.
    static let maximumSize = 64 << 10
    /// The largest number of fields of a head.
    static let maximumCount = 1000

    /// Parses a complete head, including its empty line.
    init(_ bytes: ArraySlice<UInt8>) throws(Refusal) {
        // Every line ends with CRLF, as the ``HeadScanner`` has checked.
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        lines.removeLast(2)
        guard let first = lines.first else { throw .malformed("the request line is missing") }
        let parts = first.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, let method = HTTPRequest.Method(String(decoding: parts[0], as: UTF8.self)) else {
            throw .malformed("the request line is malformed")
        }
        self.method = method
        isHTTP1_0 = try Self.isHTTP1_0(version: parts[2])
        target = try RequestTarget(parts[1], method)
        guard lines.count <= Self.maximumCount else {
            throw Refusal(.requestHeaderFieldsTooLarge, "there are too many header fields")
        }
        var fields = HTTPFields()
        fields.reserveCapacity(lines.count)
        for line in lines.dropFirst() { fields.append(try HTTPField(line: line)) }
        self.fields = fields
        framing = try BodyFraming(fields, isHTTP1_0: isHTTP1_0)
        try Self.checkHost(fields, isHTTP1_0: isHTTP1_0)
        if framing.hasBody, method == .head || method == .trace {
            throw .malformed("a \(method.rawValue) request has no content")
        }
    }

    private static func isHTTP1_0(version: ArraySlice<UInt8>) throws(Refusal) -> Bool {
        let digits = version.dropFirst(5)
        guard version.starts(with: "HTTP/".utf8), digits.count == 3, digits.dropFirst().first == UInt8(ascii: "."),
            let major = digits.first, let minor = digits.last, 0x30...0x39 ~= major, 0x30...0x39 ~= minor
        else { throw .malformed("the version is malformed") }
        guard major == UInt8(ascii: "1") else {
            throw Refusal(.httpVersionNotSupported, "the version is not HTTP/1.1")
        }
        return minor == UInt8(ascii: "0")
    }

    /// Checks the field `Host` (RFC 9112, section 3.2).
    private static func checkHost(_ fields: HTTPFields, isHTTP1_0: Bool) throws(Refusal) {
        let hosts = fields[values: .host]
        guard hosts.count <= 1, let host = hosts.first ?? (isHTTP1_0 ? "" : nil),
            host.utf8.allSatisfy(RequestTarget.isAuthority)
        else { throw .malformed("the field Host is missing, repeated or malformed") }
    }

    /// Whether the client waits for a 100 before it sends the body (RFC 9110, section 10.1.1).
    var expectsContinue: Bool {
        framing.hasBody && !isHTTP1_0 && fields[.expect]?.lowercasedASCII() == "100-continue"
    }

    /// Whether the client may send another request on the connection (RFC 9112, section 9.3). HTTP/1.0 clients get one response.
    var isPersistent: Bool { !isHTTP1_0 && !ConnectionOptions(fields).names.contains("close") }
}

extension HTTPField.Name {
    static let host = HTTPField.Name(unchecked: "Host")
    static let via = HTTPField.Name(unchecked: "Via")
    static let keepAlive = HTTPField.Name(unchecked: "Keep-Alive")
    static let cacheStatus = HTTPField.Name(unchecked: "Cache-Status")
    static let proxyStatus = HTTPField.Name(unchecked: "Proxy-Status")

    /// Creates a name that is known to be a token; the name of no field otherwise.
    fileprivate init(unchecked name: String) { self = HTTPField.Name(name) ?? .connection }
}

extension HTTPField {
    /// Parses a field line without its line end (RFC 9112, section 5).
    init(line: ArraySlice<UInt8>) throws(Refusal) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = Name(String(decoding: line[..<colon], as: UTF8.self))
        else { throw .malformed("a header field is malformed") }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var value = line[(colon + 1)...].drop(while: isBlank)
        while let last = value.last, isBlank(last) { value.removeLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw .malformed("the field \(name.rawName) has control characters")
        }
        self.init(name: name, lenientValue: value)
    }
}
