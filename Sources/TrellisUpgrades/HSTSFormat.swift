import CurlEngine
import FoundationEssentials
import TrellisCore

/// The text of curl's HSTS file: a line for each host, with its name and the date until which it is known. A dot before the name includes
/// the subdomains.
enum HSTSFormat: RecordFormat {
    static let kind = "an HSTS file"
    /// The limit of curl.
    static let limit = 10_000

    private static let header = "# Your HSTS cache. https://curl.se/docs/hsts.html\n"
    private static let comment =
        "# A line has a name, after a dot if its subdomains are included, and the date of its end.\n"

    /// Returns the hosts of a file by their names; `nil` if the file is of another kind. Lines about addresses are left out.
    static func read(_ lines: RecordLines) -> [String: HSTSHost]? {
        guard let lines = lines.reading(header, host) else { return nil }
        var hosts: [String: HSTSHost] = [:]
        for case let host? in lines {
            // As curl does, the line that is valid for longer counts.
            if let known = hosts[host.name], known.end >= host.end { continue }
            hosts[host.name] = host
        }
        return hosts
    }

    /// Returns the host of a line; a host that can never be known is `nil`.
    private static func host(_ line: Substring) -> HSTSHost?? {
        let parts = line.split(atByte: " ", maxSplits: 1)
        guard parts.count == 2, let date = expiry(parts[1]) else { return nil }
        let includesSubdomains = parts[0].hasBytePrefix(".")
        let name = HSTSHost.canonical(String(includesSubdomains ? parts[0].dropFirst() : parts[0]))
        return .some(
            name.map { HSTSHost(canonical: $0, includesSubdomains: includesSubdomains, expires: date.end) })
    }

    /// Returns the date in quotation marks; `nil` if the text has another form.
    private static func expiry(_ text: Substring) -> (end: Date?, Void)? {
        let bytes = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        let inside = bytes.dropFirst().prefix { $0 != UInt8(ascii: "\"") }
        guard let inside = String(inside) else { return nil }
        if inside == "unlimited" { return (nil, ()) }
        return CurlTimestamp.date(inside).map { ($0, ()) }
    }

    static func text(of records: [HSTSHost]) -> String {
        records.reduce(into: header + comment) { text, host in
            let end = host.expires.map(CurlTimestamp.text) ?? "unlimited"
            text += "\(host.includesSubdomains ? "." : "")\(host.name) \"\(end)\"\n"
        }
    }
}

extension HSTSHost: StoredRecord {
    var key: String { name }

    var end: Date { expires ?? .distantFuture }

    func differsOnlyInItsEnd(from other: HSTSHost) -> Bool {
        name == other.name && includesSubdomains == other.includesSubdomains
    }
}
