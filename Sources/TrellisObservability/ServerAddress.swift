#if Observability
/// The host and the port of a URL, as the attributes `server.address` and `server.port`.
struct ServerAddress: Hashable, Sendable {
    /// The host in lower case, IPv6 addresses without brackets.
    let address: String
    /// The port of the URL, or else the default port of its scheme; 0 if it is unknown.
    let port: Int

    /// The servers that are not named, because there are too many.
    static let other = ServerAddress(address: otherValue, port: 0)

    init(address: String, port: Int) { (self.address, self.port) = (address, port) }

    /// Creates the address of an absolute URL. A URL that cannot be requested has an address too, which may be empty.
    init(of url: String) {
        let bytes = url.utf8
        var start = bytes.startIndex
        var port = 0
        if let mark = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[mark...].starts(with: "://".utf8) {
            port = bytes.distance(from: start, to: mark) == 5 ? 443 : 80
            start = bytes.index(mark, offsetBy: 3)
        }
        var (end, hostEnd, isLiteral, hasUpperCase) = (start, String.Index?.none, false, false)
        scan: while end < bytes.endIndex {
            switch bytes[end] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
            case UInt8(ascii: "@"): (start, hostEnd, isLiteral) = (bytes.index(after: end), nil, false)
            case UInt8(ascii: "["): isLiteral = true
            case UInt8(ascii: "]"): isLiteral = false
            case UInt8(ascii: ":"): if !isLiteral { hostEnd = end }
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): hasUpperCase = true
            default: break
            }
            end = bytes.index(after: end)
        }
        if let hostEnd, let given = Int(url[bytes.index(after: hostEnd)..<end]) { port = given }
        var host = url[start..<(hostEnd ?? end)]
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            host = Substring(host.utf8.dropFirst().dropLast())
        }
        self.init(address: hasUpperCase ? host.lowercased() : String(host), port: port)
    }
}
#endif
