import CurlEngine

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
        let bytes = url.utf8.span
        var (start, port) = (0, 0)
        var mark = 0
        while mark < bytes.count, bytes[mark] != UInt8(ascii: ":") { mark += 1 }
        if mark + 2 < bytes.count, bytes[mark + 1] == UInt8(ascii: "/"), bytes[mark + 2] == UInt8(ascii: "/") {
            (start, port) = (mark + 3, mark == 5 ? 443 : 80)
        }
        var (end, hostEnd, isLiteral, hasUpperCase) = (start, Int?.none, false, false)
        scan: while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
            case UInt8(ascii: "@"): (start, hostEnd, isLiteral) = (end + 1, nil, false)
            case UInt8(ascii: "["): isLiteral = true
            case UInt8(ascii: "]"): isLiteral = false
            case UInt8(ascii: ":"): if !isLiteral { hostEnd = end }
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): hasUpperCase = true
            default: break
            }
            end += 1
        }
        if let hostEnd, let given = Self.number(bytes, hostEnd + 1..<end) { port = given }
        var range = start..<(hostEnd ?? end)
        if range.count > 1, bytes[range.lowerBound] == UInt8(ascii: "["),
            bytes[range.upperBound - 1] == UInt8(ascii: "]")
        {
            range = range.lowerBound + 1..<range.upperBound - 1
        }
        let lower = url.utf8.index(url.startIndex, offsetBy: range.lowerBound)
        let host = url[lower..<url.utf8.index(lower, offsetBy: range.count)]
        self.init(address: hasUpperCase ? host.lowercasedASCII() : String(host), port: port)
    }

    /// Returns the number of decimal digits; `nil` for other bytes, for none, and for more than nine.
    private static func number(_ bytes: Swift.Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard 1...9 ~= range.count else { return nil }
        var number = 0
        for index in range {
            guard 0x30...0x39 ~= bytes[index] else { return nil }
            number = 10 * number + Int(bytes[index] - 0x30)
        }
        return number
    }
}
#endif
