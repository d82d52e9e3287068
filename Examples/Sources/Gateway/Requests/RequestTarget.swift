import HTTPTypes

/// The target of a request (RFC 9112, section 3.2).
enum RequestTarget: Hashable, Sendable {
    /// The path and query, as they are sent to the origin.
    case path(String)
    /// The server itself, for `OPTIONS *`.
    case server

    /// Parses a target. The authority of an absolute target is ignored: every request goes to the one origin.
    init(_ bytes: ArraySlice<UInt8>, _ method: HTTPRequest.Method) throws(Refusal) {
        guard method != .connect else { throw Refusal(.notImplemented, "the gateway makes no tunnels") }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }) else {
            throw .malformed("the request target has characters that a URI cannot have")
        }
        if bytes.elementsEqual("*".utf8), method == .options {
            self = .server
            return
        }
        if bytes.first == UInt8(ascii: "/") {
            self = .path(String(decoding: bytes, as: UTF8.self))
            return
        }
        let scheme = String(decoding: bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercasedASCII()
        let rest = bytes.dropFirst(scheme.utf8.count)
        let authority = rest.dropFirst(3).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard ["http", "https"].contains(scheme), rest.starts(with: "://".utf8), !authority.isEmpty,
            authority.allSatisfy(Self.isAuthority)
        else { throw .malformed("the request target is malformed") }
        let path = String(decoding: rest[authority.endIndex...], as: UTF8.self)
        // An `OPTIONS` request for a URI without a path is one for the server (RFC 9112, section 3.2.4).
        self = path.isEmpty && method == .options ? .server : .path(path.hasPrefix("/") ? path : "/\(path)")
    }

    /// The target as it is logged.
    var text: String {
        switch self {
        case .path(let path): path
        case .server: "*"
        }
    }

    /// Returns whether a host and port may have a byte (RFC 3986, section 3.2.2).
    static func isAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~!$&'()*+,;=%[]:".utf8.contains(byte)
        }
    }
}
