import CurlEngine
import FoundationEssentials
import TrellisCore

/// The alternative services of an origin, as an ``AlternativeServiceStore`` knows them.
struct OriginAlternatives: StoredRecord, Hashable {
    /// An alternative service that is known until a date.
    struct Known: Hashable {
        let service: AlternativeService
        let end: Date
        /// Whether the service is known beyond a change of the network.
        let persists: Bool
    }

    /// The host and the port of the origin, whose scheme is https.
    let key: String
    /// The services in the order of the server's preference.
    let services: [Known]

    init(key: String, services: [Known]) {
        self.key = key
        self.services = services
    }

    /// Creates the alternatives that a server advertises.
    ///
    /// - Parameter age: The time that the response has spent in caches, in seconds (section 3.1).
    init(of url: WireURL, _ advertised: [AlternativeServiceField.Advertised], age: Int64, at now: Date) {
        key = Self.key(url)
        services = advertised.compactMap { part in
            guard AlternativeServiceFormat.protocols[part.protocolID] != nil, part.maxAge > age else { return nil }
            let service = AlternativeService(
                protocolID: part.protocolID, host: part.host ?? url.host.lowercasedASCII(), port: part.port)
            return Known(
                service: service, end: CurlTimestamp.date(part.maxAge - age, after: now), persists: part.persists)
        }
    }

    static func key(_ url: WireURL) -> String { "\(url.host.lowercasedASCII()):\(url.port)" }

    var end: Date { services.map(\.end).max() ?? .distantPast }

    func differsOnlyInItsEnd(from other: OriginAlternatives) -> Bool {
        key == other.key && services.map(\.service) == other.services.map(\.service)
            && services.map(\.persists) == other.services.map(\.persists)
    }
}

/// The text of curl's Alt-Svc file: a line of nine columns for each alternative service.
enum AlternativeServiceFormat: RecordFormat {
    static let kind = "an Alt-Svc file"
    static let limit = 5_000

    private static let header = "# Your alt-svc cache. https://curl.se/docs/alt-svc.html\n"
    private static let comment =
        "# Protocol, host and port of the origin, then of the service; its end; persist; priority.\n"

    /// The protocols by their ALPN identifiers, with their names in the file. Services of other protocols are not kept.
    static let protocols = ["http/1.1": "h1", "h2": "h2", "h3": "h3"]

    /// Returns the alternative services of a file; `nil` if the file is of another kind.
    static func read(_ lines: RecordLines) -> [String: OriginAlternatives]? {
        guard let lines = lines.reading(header, alternative) else { return nil }
        var services: [String: [OriginAlternatives.Known]] = [:]
        for (key, known) in lines {
            // The same service may be there for several protocols of its origin.
            guard let known, services[key]?.contains(where: { $0.service == known.service }) != true,
                services[key]?.count ?? 0 < AlternativeServiceField.limit
            else { continue }
            services[key, default: []].append(known)
        }
        return services.reduce(into: [:]) { $0[$1.key] = OriginAlternatives(key: $1.key, services: $1.value) }
    }

    /// Returns the alternative service of a line; a service that cannot be used is `nil`.
    private static func alternative(_ line: Substring) -> (String, OriginAlternatives.Known?)? {
        let columns = line.split(atByte: " ")
        // The date has a blank.
        guard columns.count == 10, let sourcePort = UInt16(columns[2]), let port = UInt16(columns[5]),
            columns[6].hasBytePrefix("\""), columns[7].hasByteSuffix("\""), columns[8] == "0" || columns[8] == "1",
            let end = CurlTimestamp.date("\(columns[6].dropFirst()) \(columns[7].dropLast())")
        else { return nil }
        let name = protocols.first { $0.value.hasSameBytes(as: columns[3]) }?.key
        guard let name, let source = host(columns[1]), let host = host(columns[4]), port > 0 else { return ("", nil) }
        return (
            "\(source):\(sourcePort)",
            OriginAlternatives.Known(
                service: AlternativeService(protocolID: name, host: host, port: Int(port)), end: end,
                persists: columns[8] == "1")
        )
    }

    /// Returns a host of the file, in which IPv6 addresses may be without brackets.
    private static func host(_ text: Substring) -> String? {
        let isBare = text.utf8.contains(UInt8(ascii: ":")) && !text.hasBytePrefix("[")
        return AlternativeServiceField.canonicalHost(isBare ? "[\(text)]" : String(text))
    }

    static func text(of records: [OriginAlternatives]) -> String {
        var text = header + comment
        for record in records {
            guard let colon = record.key.lastIndex(ofByte: ":") else { continue }
            let (host, port) = (record.key[..<colon], record.key[record.key.utf8.index(after: colon)...])
            for known in record.services {
                guard let name = protocols[known.service.protocolID] else { continue }
                // curl looks services up by the protocol of the origin too: this one is always among those.
                text +=
                    "h1 \(host) \(port) \(name) \(known.service.host) \(known.service.port) "
                    + "\"\(CurlTimestamp.text(known.end))\" \(known.persists ? 1 : 0) 0\n"
            }
        }
        return text
    }
}
