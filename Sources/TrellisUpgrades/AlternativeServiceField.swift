import CurlEngine
import TrellisCore

/// The parsed value of an `Alt-Svc` field (RFC 7838, section 3).
enum AlternativeServiceField: Hashable, Sendable {
    /// An alternative service as its field names it.
    struct Advertised: Hashable, Sendable {
        /// The protocol by its ALPN identifier, percent-decoded.
        let protocolID: String
        /// The host; `nil` for the host of the origin.
        let host: String?
        let port: Int
        /// The time for which the service is known, in seconds.
        var maxAge: Int64 = 86_400
        /// Whether the service is known beyond a change of the network.
        var persists = false
    }

    /// All alternative services of the origin are forgotten.
    case clear
    /// The alternative services of the origin, in the order of the server's preference, instead of all earlier ones.
    case services([Advertised])

    /// The largest number of services that are read from a field.
    static let limit = 16

    /// Creates the value from all fields of a response; `nil` if there is none, or nothing but malformed parts. A malformed part alone is
    /// left out.
    init?(_ fields: [String]) {
        guard !fields.isEmpty else { return nil }
        let parts = fields.flatMap { FieldScanner.elements(of: $0) }.map { $0.utf8.trimmingBlanks }
            .filter { !$0.isEmpty }
        // The word has no other spelling (section 3).
        if parts.count == 1, parts[0].elementsEqual("clear".utf8) {
            self = .clear
            return
        }
        let services = parts.lazy.compactMap { Self.service(Substring($0)) }.prefix(Self.limit)
        guard !services.isEmpty else { return nil }
        self = .services(Array(services))
    }

    private static func service(_ text: Substring) -> Advertised? {
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) else { return nil }
        var scanner = FieldScanner(text)
        guard let name = scanner.token(), scanner.take("="), scanner.isAt("\""),
            let authority = scanner.tokenOrQuoted(),
            let place = place(authority), let protocolID = percentDecoded(name)
        else { return nil }
        var service = Advertised(protocolID: protocolID, host: place.host, port: place.port)
        scanner.skipSpace()
        while scanner.take(";") {
            scanner.skipSpace()
            // Parameters that are not known are ignored.
            guard let name = scanner.token(), scanner.take("="), let value = scanner.tokenOrQuoted() else { return nil }
            switch name.lowercasedASCII() {
            case "ma":
                guard let seconds = DeltaSeconds.parse(value) else { return nil }
                service.maxAge = seconds
            // Other values than 1 mean nothing (section 3.1).
            case "persist": service.persists = value.hasSameBytes(as: "1")
            default: break
            }
            scanner.skipSpace()
        }
        return scanner.isAtEnd ? service : nil
    }

    /// Returns the host and the port of an authority; the host is `nil` if it is left out.
    private static func place(_ authority: String) -> (host: String?, port: Int)? {
        guard let colon = authority.lastIndex(ofByte: ":") else { return nil }
        let (host, digits) = (String(authority[..<colon]), authority[authority.utf8.index(after: colon)...])
        guard !digits.isEmpty, digits.utf8.count <= 5, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            let port = Int(digits), (1...65_535).contains(port)
        else { return nil }
        if host.isEmpty { return (nil, port) }
        guard let canonical = canonicalHost(host) else { return nil }
        return (canonical, port)
    }

    /// Returns a host in the form in which hosts are compared: a name in ASCII, or an address, with brackets if it is one of IPv6; `nil`
    /// for any other text.
    static func canonicalHost(_ host: String) -> String? {
        guard let host = CookieDomain.canonical(host), !host.hasBytePrefix("."), host.utf8.count <= 255 else {
            return nil
        }
        let isAddress = CookieDomain.isAddress(host)
        guard isAddress || !host.utf8.contains(UInt8(ascii: "%")) else { return nil }
        return !isAddress || IPAddress(host) != nil ? host : nil
    }

    /// Returns a protocol's identifier without percent-encoding; `nil` if that is malformed, or the bytes are no visible ASCII characters.
    private static func percentDecoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(rest.prefix(2)) ?? ""
            guard digits.utf8.count == 2, digits.utf8.first != UInt8(ascii: "+"), let value = UInt8(digits, radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
