/// The head of a request as the engine itself sends it, on a connection that libcurl has only made (RFC 9112, section 3).
///
/// The fields are those that libcurl would send: `Host` and `Accept` are added unless the header lines have or omit them.
struct RequestHeadBytes {
    private(set) var bytes: [UInt8] = []

    /// Creates the head of a request without a body.
    ///
    /// - Parameter defaults: The header lines of requests without their own.
    init(_ options: TransferOptions, defaults: HeaderLines) {
        let target = options.url.text.utf8.dropFirst(options.url.origin.utf8.count)
        bytes.reserveCapacity(512)
        bytes += options.method.utf8
        bytes.append(UInt8(ascii: " "))
        if target.first != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        bytes += target
        bytes += " HTTP/1.1\r\n".utf8
        let lines = (options.headerLines ?? defaults).bytes.split(separator: 0)
        if let host = lines.first(where: { Self.name(of: $0) == "host" }) {
            append(host)
        } else {
            let authority = options.url.origin.utf8.dropFirst(options.url.scheme.utf8.count + 3)
            bytes += "Host: ".utf8
            // The zone of an IPv6 address has a meaning on this machine only (RFC 6874, section 4).
            bytes += authority.prefix { $0 != UInt8(ascii: "%") }
            if let end = authority.lastIndex(of: UInt8(ascii: "]")), authority.contains(UInt8(ascii: "%")) {
                bytes += authority[end...]
            }
            bytes += "\r\n".utf8
        }
        if !lines.contains(where: { Self.name(of: $0) == "accept" }) { bytes += "Accept: */*\r\n".utf8 }
        for line in lines where Self.name(of: line) != "host" { append(line) }
        bytes += "\r\n".utf8
    }

    /// The name of a line in lower case; it ends at the colon, or at the semicolon of an empty value.
    private static func name(of line: ArraySlice<UInt8>) -> String {
        String(decoding: line.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }, as: UTF8.self)
            .lowercasedASCII()
    }

    /// Adds a line of ``HeaderLines``, unless it omits a field.
    private mutating func append(_ line: ArraySlice<UInt8>) {
        guard line.contains(UInt8(ascii: ":")) else {
            // An empty value.
            bytes += line.dropLast() + ":\r\n".utf8
            return
        }
        guard line.firstIndex(of: UInt8(ascii: ":")) != line.endIndex - 1 else { return }
        bytes += line + "\r\n".utf8
    }
}
