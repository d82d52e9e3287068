import CurlEngine
import TrellisCore

/// The types of DNS records that have addresses.
enum DNSRecordType: UInt16 {
    /// An IPv4 address (RFC 1035, section 3.4.1).
    case a = 1
    /// An IPv6 address (RFC 3596, section 2.2).
    case aaaa = 28

    /// The number of bytes of an address.
    var length: Int { self == .a ? 4 : 16 }
}

/// A name in DNS, as its labels in lower case (RFC 1035, section 2.3.3: names are compared without regard to case).
struct DNSName: Hashable {
    /// The largest number of bytes of a name in a message (RFC 1035, section 2.3.4).
    static let maximumLength = 255
    /// The largest number of bytes of a label.
    static let maximumLabelLength = 63

    private(set) var labels: [[UInt8]] = []
    /// The number of bytes of the name in a message, with its end.
    private var length = 1

    fileprivate init() {}

    /// Creates the name of a host; `nil` if it cannot be a name in DNS.
    init?(_ host: String) {
        for label in host.withoutFinalDot.split(atByte: ".", omittingEmptySubsequences: false) {
            guard !label.isEmpty, append(label.utf8) else { return nil }
        }
    }

    /// Adds a label. Returns `false` if the label or the name would be too long.
    fileprivate mutating func append(_ label: some Collection<UInt8>) -> Bool {
        guard label.count <= Self.maximumLabelLength, length + label.count + 1 <= Self.maximumLength else {
            return false
        }
        labels.append(label.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 })
        length += label.count + 1
        return true
    }

    /// The name in a message, without compression.
    var bytes: [UInt8] { labels.flatMap { [UInt8($0.count)] + $0 } + [0] }
}

/// A question for the addresses of a name, as a DNS message (RFC 1035, section 4).
struct DNSQuery: Hashable {
    let name: DNSName
    let type: DNSRecordType

    /// The message. Its number is 0, so that equal questions are equal messages, which HTTP caches can answer (RFC 8484, section 4.1).
    var bytes: [UInt8] {
        // The number, the flags (recursion is desired), one question, and no records.
        [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name.bytes + [0, UInt8(type.rawValue), 0, 1]
    }
}

/// The addresses in the response to a question.
struct DNSAnswer: Hashable {
    /// The addresses of the name that the question's name leads to, in the order of the message; empty if it has none of the type.
    let addresses: [IPAddress]
    /// The time in seconds for which they may be used: the shortest one on the way to them.
    let timeToLive: UInt32

    /// The largest number of aliases (CNAME) between the name and its addresses.
    static let maximumAliases = 16

    /// Reads the response to a question. Records of other types and classes are ignored.
    ///
    /// - Throws: ``DNSFailure``.
    init(_ bytes: [UInt8], to query: DNSQuery) throws(DNSFailure) {
        var reader = DNSReader(bytes)
        let count = try Self.readHead(&reader, query)
        var addresses: [DNSName: [(address: IPAddress, timeToLive: UInt32)]] = [:]
        var aliases: [DNSName: (name: DNSName, timeToLive: UInt32)] = [:]
        for _ in 0..<count {
            let owner = try reader.name()
            let (type, recordClass) = (try reader.number(), try reader.number())
            let timeToLive = try reader.timeToLive()
            let length = Int(try reader.number())
            let end = try reader.end(after: length)
            guard recordClass == 1 else { reader.skip(to: end); continue }
            switch type {
            case query.type.rawValue:
                guard length == query.type.length, let address = IPAddress(bytes: try reader.bytes(length)) else {
                    throw .malformed("an address has \(length) bytes")
                }
                addresses[owner, default: []].append((address, timeToLive))
            case 5:
                aliases[owner] = (try reader.name(), timeToLive)
                guard reader.position == end else { throw .malformed("an alias does not end with its record") }
            default: reader.skip(to: end)
            }
        }
        (self.addresses, self.timeToLive) = try Self.follow(query.name, addresses: addresses, aliases: aliases)
    }

    /// Returns the addresses of the name that the aliases lead to.
    private static func follow(
        _ name: DNSName, addresses: [DNSName: [(address: IPAddress, timeToLive: UInt32)]],
        aliases: [DNSName: (name: DNSName, timeToLive: UInt32)]
    ) throws(DNSFailure) -> ([IPAddress], UInt32) {
        var (name, timeToLive) = (name, UInt32.max)
        for _ in 0...maximumAliases {
            if let found = addresses[name] {
                return (found.map(\.address), found.reduce(timeToLive) { min($0, $1.timeToLive) })
            }
            guard let alias = aliases[name] else { return ([], 0) }
            timeToLive = min(timeToLive, alias.timeToLive)
            name = alias.name
        }
        throw .malformed("its aliases have no end")
    }

    /// Reads everything before the records. Returns the number of records of the answer.
    private static func readHead(_ reader: inout DNSReader, _ query: DNSQuery) throws(DNSFailure) -> Int {
        guard try reader.number() == 0 else { throw .malformed("it has the number of another question") }
        let flags = try reader.number()
        guard flags & 0x8000 != 0, flags & 0x7800 == 0 else { throw .malformed("it is not the response to a question") }
        switch flags & 0xF {
        case 0: break
        case 3: throw .noSuchName
        case let code: throw .refused(code: Int(code))
        }
        guard flags & 0x0200 == 0 else { throw .malformed("it is cut short") }
        guard try reader.number() == 1 else { throw .malformed("it does not have one question") }
        let count = Int(try reader.number())
        _ = (try reader.number(), try reader.number())
        guard try reader.name() == query.name, try reader.number() == query.type.rawValue, try reader.number() == 1
        else {
            throw .malformed("it is the response to another question")
        }
        return count
    }
}

/// A reader of the parts of a DNS message. No message makes it read beyond the end, or without end.
private struct DNSReader {
    private let message: [UInt8]
    private(set) var position = 0

    init(_ message: [UInt8]) { self.message = message }

    /// Returns the position after the next bytes.
    func end(after count: Int) throws(DNSFailure) -> Int {
        guard count <= message.count - position else { throw .malformed("it ends early") }
        return position + count
    }

    mutating func skip(to end: Int) { position = end }

    mutating func bytes(_ count: Int) throws(DNSFailure) -> [UInt8] {
        let end = try end(after: count)
        defer { position = end }
        return Array(message[position..<end])
    }

    mutating func number() throws(DNSFailure) -> UInt16 {
        let bytes = try bytes(2)
        return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    }

    /// Returns a time to live in seconds. One with the first bit set counts as zero (RFC 2181, section 8).
    mutating func timeToLive() throws(DNSFailure) -> UInt32 {
        let value = UInt32(try number()) << 16 | UInt32(try number())
        return value > Int32.max ? 0 : value
    }

    /// Returns a name, which may end with a pointer to an earlier one (RFC 1035, section 4.1.4).
    ///
    /// Each pointer must lead to a position before the part of the name that it ends, so that no name leads back to itself. There are no
    /// more pointers than a name has labels (section 2.3.4): a label needs at least two of the name's 255 bytes.
    mutating func name() throws(DNSFailure) -> DNSName {
        var name = DNSName()
        var (place, start) = (position, position)
        var end: Int?
        var pointers = 0
        while true {
            guard place < message.count else { throw .malformed("a name ends early") }
            let length = Int(message[place])
            switch length >> 6 {
            case 0 where length == 0:
                position = end ?? place + 1
                return name
            case 0:
                guard place + 1 + length <= message.count else { throw .malformed("a name ends early") }
                guard name.append(message[(place + 1)..<(place + 1 + length)]) else {
                    throw .malformed("a name is too long")
                }
                place += 1 + length
            case 3:
                guard place + 1 < message.count else { throw .malformed("a name ends early") }
                let target = (length & 0x3F) << 8 | Int(message[place + 1])
                guard target < start else { throw .malformed("a name does not lead back") }
                pointers += 1
                guard pointers <= 127 else { throw .malformed("a name has too many pointers") }
                if end == nil { end = place + 2 }
                (place, start) = (target, target)
            default: throw .malformed("a name has a label of an unknown kind")
            }
        }
    }
}

/// The reason why a server has no addresses for a name.
public enum DNSFailure: Error, Sendable, Hashable {
    /// The name does not exist (NXDOMAIN), or cannot be a name in DNS.
    case noSuchName
    /// The server responded with another code than 0 (RFC 1035, section 4.1.1): 2 means that it has failed, 5 that it refuses to respond.
    case refused(code: Int)
    /// The response is not a DNS message, or not the response to the question.
    case malformed(String)
    /// The HTTP response does not have a status of 200 to 299 (RFC 8484, section 4.2.1).
    case status(Int)
    /// The HTTP response has another content type than `application/dns-message`, or none.
    case contentType(String?)
}

extension DNSFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .noSuchName: "no such name"
        case .refused(2): "the DNS server has failed (SERVFAIL)"
        case .refused(5): "the DNS server refuses to respond (REFUSED)"
        case .refused(let code): "the DNS server responded with code \(code)"
        case .malformed(let reason): "the DNS response is malformed: \(reason)"
        case .status(let status): "the DNS server responded with the HTTP status \(status)"
        case .contentType(let type):
            "the DNS server responded with \(type.map { "the content type \($0)" } ?? "no content type")"
        }
    }
}
