import CurlEngine
import FoundationEssentials

/// The text of a cookie file in Netscape's format, as curl reads and writes it: one line for each cookie, of seven fields
/// separated by tabs.
struct NetscapeCookies {
    private static let header = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"
    private static let httpOnlyMark = Array("#HttpOnly_".utf8)
    private static let (tab, lineFeed) = (UInt8(ascii: "\t"), UInt8(ascii: "\n"))
    /// The cookies in the order of their lines.
    private(set) var cookies: [Cookie] = []
    /// Whether the text is a cookie file, even if it contains no cookies: its first line names the format, or it
    /// has nothing but cookies, comments and empty lines.
    private(set) var isCookieFile = true

    init(cookies: [Cookie] = []) { self.cookies = cookies }

    // MARK: Reading

    /// Creates the value by reading a file; lines that are no cookies are left out.
    init(_ data: Data, at now: Date) {
        // Slices of arrays are several times as fast as slices of `Data`.
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
            if let cookie = Self.cookie(fields.map(OctetText.text), isHTTPOnly: isHTTPOnly, created: now) {
                cookies.append(cookie)
            }
        }
    }

    /// The first lines that name the format: the one that curl writes, and the other that curl reads.
    private static let firstLines = ["# Netscape HTTP Cookie File", "# HTTP Cookie File"].map { Array($0.utf8) }

    /// Returns whether the fields of a line have the form of a cookie, regardless of their contents.
    private static func isLine(_ fields: [ArraySlice<UInt8>]) -> Bool {
        guard fields.count >= 6 else { return false }
        let words = [1, 3, 4].map { String(decoding: fields[$0], as: UTF8.self).lowercasedASCII() }
        return ["true", "false"].contains(words[0]) && ["true", "false"].contains(words[1]) && Int64(words[2]) != nil
    }

    private static func cookie(_ fields: [String], isHTTPOnly: Bool, created now: Date) -> Cookie? {
        guard let seconds = Int64(fields[4]) else { return nil }
        // curl writes IPv6 addresses without brackets.
        let domain = fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]
        let isIPv6 = domain.utf8.contains(UInt8(ascii: ":")) && !domain.hasPrefix("[")
        return Cookie(
            name: fields[5], value: fields.count > 6 ? fields[6] : "", domain: isIPv6 ? "[\(domain)]" : domain,
            isHostOnly: fields[1].lowercasedASCII() != "true", path: fields[2],
            isSecure: fields[3].lowercasedASCII() == "true",
            isHTTPOnly: isHTTPOnly,
            expires: seconds == 0 ? nil : Date(timeIntervalSince1970: min(max(Double(seconds), 0), Cookie.endOfTime)),
            created: now)
    }

    // MARK: Writing

    /// Returns whether the format can hold a cookie: its fields are separated by tabs, so that no field may contain one.
    static func canHold(_ cookie: Cookie) -> Bool {
        ![cookie.name, cookie.value, cookie.path].contains { $0.utf8.contains(tab) }
    }

    /// The bytes of the file. The format has whole seconds: an expiry date within a second is rounded down, so that no reader of
    /// the file keeps a cookie for longer than its server said.
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
