import CurlEngine
import HTTPTypes
import TrellisCore

/// The facts in the fields of a response that decide about its storing and its use, found in one pass over the fields.
///
/// There are no texts in it, so that no memory is taken for it, and copies cost nothing.
struct CacheHeaders: Hashable, Sendable {
    /// The `Expires` of a response.
    enum Expiry: Hashable, Sendable {
        /// There is no such field.
        case none
        /// The date is malformed or ambiguous.
        case invalid
        /// The date.
        case at(HTTPDate)
    }

    /// The instant of `Date`; `nil` without a single valid one.
    private(set) var date: HTTPDate?
    /// The instant of `Expires`.
    private(set) var expires = Expiry.none
    /// The instant of `Last-Modified`; `nil` without a single valid one.
    private(set) var lastModified: HTTPDate?
    /// Whether there is a single `ETag`.
    private(set) var hasEntityTag = false
    /// The first number of `Age` in seconds, at most ``CacheDirectives/Seconds/maximum``; `nil` without a valid one.
    private(set) var age: UInt32?
    /// The directives of `Cache-Control`.
    private(set) var directives = CacheDirectives()
    /// Whether there is a `Vary`.
    private(set) var hasVary = false
    /// Whether there is a `Content-Encoding`.
    private(set) var hasCodings = false
    /// Whether there is a `Content-Range`.
    private(set) var hasRange = false
    /// Whether a `Connection` may name other fields.
    private(set) var mayNameOthers = false

    private init() {}
}

// MARK: Fields

extension CacheHeaders {
    /// The lines of a field.
    private struct Lines {
        private var first: String?
        private var areEqual = true

        /// Whether there is a line.
        var arePresent: Bool { first != nil }

        /// The value of lines that are all equal; `nil` without a line, if they differ, or if they are not UTF-8.
        var single: String? { areEqual ? first : nil }

        mutating func add(_ field: HTTPField) {
            guard let known = first else {
                first = field.value
                areEqual = field.octetsBeyondUTF8 == nil
                return
            }
            if areEqual {
                areEqual = field.octetsBeyondUTF8 == nil && known.hasSameBytes(as: field.value)
            }
        }
    }

    /// Finds the facts among some fields.
    ///
    /// - Parameter now: The instant at which the response was received.
    init(_ fields: HTTPFields, now: CacheTime) {
        self.init()
        var (date, expires, entityTag, lastModified) = (Lines(), Lines(), Lines(), Lines())
        var ageLine: String?
        for field in fields {
            let name = field.name.canonicalName
            // Most names have another length, which is found out faster.
            switch name.utf8.count {
            case 3 where name == "age": ageLine = ageLine ?? field.value
            case 4 where name == "date": date.add(field)
            case 4 where name == "etag": entityTag.add(field)
            case 4 where name == "vary": hasVary = true
            case 7 where name == "expires": expires.add(field)
            case 10 where name == "connection":
                let value = field.value
                if !value.hasSameBytes(as: "keep-alive"), !value.hasSameBytes(as: "close") { mayNameOthers = true }
            case 13 where name == "cache-control": directives.read(line: field.value)
            case 13 where name == "content-range": hasRange = true
            case 13 where name == "last-modified": lastModified.add(field)
            case 16 where name == "content-encoding": hasCodings = true
            default: break
            }
        }
        self.date = date.single.flatMap { HTTPDate($0, now: now.date) }
        self.lastModified = lastModified.single.flatMap { HTTPDate($0, now: now.date) }
        hasEntityTag = entityTag.single != nil
        age = ageLine.flatMap { Self.firstNumber(of: $0) }
        if expires.arePresent {
            // An ambiguous date is none (RFC 9111, section 5.3), and neither is one in another zone than GMT (section 4.2).
            let end = expires.single.flatMap { HTTPDate($0, now: now.date, acceptsUTC: false) }
            self.expires = end.map { Expiry.at($0) } ?? .invalid
        }
    }

    /// Returns the first number of a line of `Age`; `nil` if it is not a number (RFC 9111, section 5.1).
    private static func firstNumber(of line: String) -> UInt32? {
        guard let text = FieldScanner.elements(of: line).first?.utf8.trimmingBlanks,
            let seconds = DeltaSeconds.parse(String(Substring(text)))
        else { return nil }
        return UInt32(min(seconds, CacheDirectives.Seconds.maximum))
    }
}

// MARK: Bytes

extension CacheHeaders {
    /// The lengths of the names of all fields that are read, each as a bit.
    private static let nameLengths = [3, 4, 7, 10, 13, 16].reduce(UInt64(0)) { $0 | UInt64(1) << UInt64($1) }

    // The names of the fields, in lower case.
    private static let ageName = Array("age".utf8)
    private static let dateName = Array("date".utf8)
    private static let entityTagName = Array("etag".utf8)
    private static let varyName = Array("vary".utf8)
    private static let expiresName = Array("expires".utf8)
    private static let connectionName = Array("connection".utf8)
    private static let cacheControlName = Array("cache-control".utf8)
    private static let lastModifiedName = Array("last-modified".utf8)
    private static let contentRangeName = Array("content-range".utf8)
    private static let contentEncodingName = Array("content-encoding".utf8)
    private static let keepAliveOption = Array("keep-alive".utf8)
    private static let closeOption = Array("close".utf8)

    /// The number of bytes below which no text is a date.
    private static let minimumDateLength = 24

    /// Finds the facts in a head as it was received, without a text for any field.
    ///
    /// - Returns: `nil` if one of the fields is not as nearly all servers send it, so that the fields must be parsed. For any other head,
    ///   the facts are the same as those among its parsed fields.
    init?(_ wire: WireFields) {
        var facts = CacheHeaders()
        guard wire.allSatisfy(nameLengths: Self.nameLengths, { facts.read($0, $1) }) else { return nil }
        self = facts
    }

    /// Reads a field. Returns `false` if it is repeated, or has an unusual form.
    private mutating func read(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        switch name.count {
        case 3:
            if name.isName(Self.ageName) { return readAge(value) }
        case 4:
            if name.isName(Self.dateName) { return Self.readDate(value, &date) }
            if name.isName(Self.entityTagName) { return readEntityTag(value) }
            if name.isName(Self.varyName) { hasVary = true }
        case 7:
            if name.isName(Self.expiresName) { return readExpires(value) }
        case 10:
            if name.isName(Self.connectionName) {
                return value.hasSameBytes(as: Self.keepAliveOption) || value.hasSameBytes(as: Self.closeOption)
            }
        case 13:
            if name.isName(Self.cacheControlName) { return directives.readPlain(value) }
            if name.isName(Self.contentRangeName) { hasRange = true }
            if name.isName(Self.lastModifiedName) { return Self.readDate(value, &lastModified) }
        case 16:
            if name.isName(Self.contentEncodingName) { hasCodings = true }
        default: break
        }
        return true
    }

    private static func readDate(_ value: Span<UInt8>, _ date: inout HTTPDate?) -> Bool {
        guard date == nil, let read = HTTPDate(fixed: value) else { return false }
        date = read
        return true
    }

    private mutating func readExpires(_ value: Span<UInt8>) -> Bool {
        guard case .none = expires else { return false }
        if let date = HTTPDate(fixed: value) {
            expires = .at(date)
            return true
        }
        expires = .invalid
        return value.count < Self.minimumDateLength
    }

    private mutating func readEntityTag(_ value: Span<UInt8>) -> Bool {
        guard !hasEntityTag else { return false }
        for index in value.indices where value[index] >= 0x80 { return false }
        hasEntityTag = true
        return true
    }

    private mutating func readAge(_ value: Span<UInt8>) -> Bool {
        guard age == nil, value.count > 0, let seconds = CacheDirectives.deltaSeconds(value) else { return false }
        age = seconds
        return true
    }
}
