import FoundationEssentials

/// The text of a cookie file in Netscape's format, as curl reads and writes it: a line for each cookie, of seven fields with
/// tabs between them.
struct NetscapeCookies {
    private static let header = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"
    private static let httpOnlyMark = Array("#HttpOnly_".utf8)
    private static let (tab, lineFeed) = (UInt8(ascii: "\t"), UInt8(ascii: "\n"))
    /// The cookies in the order of their lines.
    private(set) var cookies: [Cookie] = []
    /// The text is a file of cookies, if maybe one without any: it says so in its first line, or has nothing in it but cookies,
    /// comments and empty lines.
    private(set) var isCookieFile = true

    init(cookies: [Cookie] = []) { self.cookies = cookies }

    // MARK: Reading

    /// Reads a file; lines that are no cookies are left out.
    init(_ data: Data, at now: Date) {
        // Slices of arrays are several times as fast as those of `Data`.
        let bytes = [UInt8](data)
        let saysSo = Self.firstLines.contains { bytes.starts(with: $0) }
        for wholeLine in bytes.split(separator: Self.lineFeed) {
            let line = wholeLine.last == UInt8(ascii: "\r") ? wholeLine.dropLast() : wholeLine
            let isHTTPOnly = line.starts(with: Self.httpOnlyMark)
            let rest = isHTTPOnly ? line.dropFirst(Self.httpOnlyMark.count) : line
            guard rest.first != UInt8(ascii: "#") else { continue }
            let fields = rest.split(separator: Self.tab, maxSplits: 6, omittingEmptySubsequences: false)
            let isBlank = rest.allSatisfy { $0 == 0x20 || $0 == Self.tab }
            isCookieFile = isCookieFile && (saysSo || isBlank || Self.isLine(fields))
            // Some writers leave out the tab before an empty value.
            guard fields.count >= 6 else { continue }
            if let cookie = Self.cookie(fields.map(OctetText.text), isHTTPOnly, now) { cookies.append(cookie) }
        }
    }

    /// What curl writes and what it reads.
    private static let firstLines = ["# Netscape HTTP Cookie File", "# HTTP Cookie File"].map { Array($0.utf8) }

    /// It has the form of a cookie, whatever is in it.
    private static func isLine(_ fields: [ArraySlice<UInt8>]) -> Bool {
        guard fields.count >= 6 else { return false }
        let words = [1, 3, 4].map { String(decoding: fields[$0], as: UTF8.self).uppercased() }
        return ["TRUE", "FALSE"].contains(words[0]) && ["TRUE", "FALSE"].contains(words[1]) && Int64(words[2]) != nil
    }

    private static func cookie(_ fields: [String], _ isHTTPOnly: Bool, _ now: Date) -> Cookie? {
        guard let seconds = Int64(fields[4]) else { return nil }
        // curl has IPv6 addresses without brackets.
        let domain = fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]
        let isIPv6 = domain.utf8.contains(UInt8(ascii: ":")) && !domain.hasPrefix("[")
        return Cookie(
            name: fields[5], value: fields.count > 6 ? fields[6] : "", domain: isIPv6 ? "[\(domain)]" : domain,
            isHostOnly: fields[1].uppercased() != "TRUE", path: fields[2], isSecure: fields[3].uppercased() == "TRUE",
            isHTTPOnly: isHTTPOnly,
            expires: seconds == 0 ? nil : Date(timeIntervalSince1970: min(max(Double(seconds), 0), Cookie.endOfTime)),
            created: now)
    }

    // MARK: Writing

    /// Whether the format can hold a cookie: between its tabs there is no other.
    static func canHold(_ cookie: Cookie) -> Bool {
        ![cookie.name, cookie.value, cookie.path].contains { $0.utf8.contains(tab) }
    }

    /// The file. It has whole seconds: a cookie that ends within one ends there at its beginning, so that no reader of the file
    /// keeps it for longer than its server said.
    var data: Data {
        var text = Data(Self.header.utf8)
        for cookie in cookies where Self.canHold(cookie) {
            let domain = cookie.domain.hasPrefix("[") ? String(cookie.domain.dropFirst().dropLast()) : cookie.domain
            let fields = [
                (cookie.isHTTPOnly ? "#HttpOnly_" : "") + (cookie.isHostOnly ? "" : ".") + domain,
                cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE",
                String(cookie.lastSecond ?? 0), cookie.name, cookie.value,
            ]
            text.append(contentsOf: OctetText.octets(fields.joined(separator: "\t")))
            text.append(Self.lineFeed)
        }
        return text
    }
}
