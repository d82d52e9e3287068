import CurlEngine
import FoundationEssentials
import TrellisCore

/// The places of the entries of a HAR document, with the method and the URL of each request.
///
/// Only these are read when a cassette is opened: decoding all of its entries would take a hundred times as long.
struct CassetteIndex: Sendable {
    /// The place of an entry in the document.
    struct Place: Sendable, Hashable {
        /// The range of the entry's bytes.
        let range: Range<Int>
        let method: String
        let url: String
    }

    /// The reason why bytes are not a HAR document.
    struct Malformed: Error, Hashable {
        /// The offset of the first byte that is not as expected.
        let offset: Int
        let reason: String
    }

    /// The entries in the order of the document.
    private(set) var places: [Place] = []

    /// Creates an index without entries.
    init() {}

    /// Creates the index of a document.
    init(_ document: Data) throws(Malformed) {
        let bytes = document.span
        // Some editors write a byte order mark.
        var position = bytes.matches(Self.byteOrderMark.span, at: 0) ? 3 : 0
        try Self.open("{", expected: "a JSON object", in: bytes, at: &position)
        var (isFirst, hasLog) = (true, false)
        while let name = try Self.member(in: bytes, at: &position, isFirst: &isFirst) {
            if bytes.matches(Self.log.span, at: name) {
                hasLog = true
                try readLog(bytes, &position)
            } else {
                try Self.skipValue(bytes, &position)
            }
        }
        guard hasLog else { throw Malformed(offset: 0, reason: "it has no member \"log\"") }
    }

    private mutating func readLog(_ bytes: Span<UInt8>, _ position: inout Int) throws(Malformed) {
        try Self.open("{", expected: "the object \"log\"", in: bytes, at: &position)
        var (isFirst, hasEntries) = (true, false)
        while let name = try Self.member(in: bytes, at: &position, isFirst: &isFirst) {
            if bytes.matches(Self.entries.span, at: name) {
                hasEntries = true
                try readEntries(bytes, &position)
            } else {
                try Self.skipValue(bytes, &position)
            }
        }
        guard hasEntries else { throw Malformed(offset: position, reason: "its log has no member \"entries\"") }
    }

    private mutating func readEntries(_ bytes: Span<UInt8>, _ position: inout Int) throws(Malformed) {
        try Self.open("[", expected: "the list of entries", in: bytes, at: &position)
        var isFirst = true
        while true {
            position = bytes.endOfJSONBlanks(from: position)
            if position < bytes.count, bytes[position] == UInt8(ascii: "]") {
                position += 1
                return
            }
            if !isFirst { try Self.take(",", expected: "a comma between entries", in: bytes, at: &position) }
            isFirst = false
            try readEntry(bytes, &position)
        }
    }

    private mutating func readEntry(_ bytes: Span<UInt8>, _ position: inout Int) throws(Malformed) {
        position = bytes.endOfJSONBlanks(from: position)
        let start = position
        var (method, url): (String?, String?)
        try Self.open("{", expected: "an entry", in: bytes, at: &position)
        var isFirst = true
        while let name = try Self.member(in: bytes, at: &position, isFirst: &isFirst) {
            guard bytes.matches(Self.request.span, at: name) else {
                try Self.skipValue(bytes, &position)
                continue
            }
            try Self.open("{", expected: "a request", in: bytes, at: &position)
            var isFirstOfRequest = true
            while let name = try Self.member(in: bytes, at: &position, isFirst: &isFirstOfRequest) {
                let value = position
                try Self.skipValue(bytes, &position)
                if bytes.matches(Self.method.span, at: name) {
                    method = bytes.jsonString(value..<position)
                } else if bytes.matches(Self.url.span, at: name) {
                    url = bytes.jsonString(value..<position)
                }
            }
        }
        guard let method, let url else { throw Malformed(offset: start, reason: "an entry has no method or no URL") }
        places.append(Place(range: start..<position, method: method, url: url))
    }

    // MARK: Syntax

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let log = Array("\"log\"".utf8)
    private static let entries = Array("\"entries\"".utf8)
    private static let request = Array("\"request\"".utf8)
    private static let method = Array("\"method\"".utf8)
    private static let url = Array("\"url\"".utf8)

    /// Takes the beginning of an object or an array.
    private static func open(
        _ mark: Unicode.Scalar, expected: String, in bytes: Span<UInt8>, at position: inout Int
    ) throws(Malformed) {
        position = bytes.endOfJSONBlanks(from: position)
        try take(mark, expected: expected, in: bytes, at: &position)
    }

    private static func take(
        _ mark: Unicode.Scalar, expected: String, in bytes: Span<UInt8>, at position: inout Int
    ) throws(Malformed) {
        guard position < bytes.count, bytes[position] == UInt8(ascii: mark) else {
            throw Malformed(offset: position, reason: "\(expected) is expected")
        }
        position += 1
    }

    /// Takes the name of the next member and the colon after it, up to its value, and returns the index of the name; `nil` at the end of
    /// the object, which is taken.
    private static func member(
        in bytes: Span<UInt8>, at position: inout Int, isFirst: inout Bool
    ) throws(Malformed) -> Int? {
        position = bytes.endOfJSONBlanks(from: position)
        if position < bytes.count, bytes[position] == UInt8(ascii: "}") {
            position += 1
            return nil
        }
        if !isFirst {
            try take(",", expected: "a comma between members", in: bytes, at: &position)
            position = bytes.endOfJSONBlanks(from: position)
        }
        isFirst = false
        let name = position
        guard let end = bytes.endOfJSONString(from: position) else {
            throw Malformed(offset: position, reason: "the name of a member is expected")
        }
        position = bytes.endOfJSONBlanks(from: end)
        try take(":", expected: "a colon", in: bytes, at: &position)
        position = bytes.endOfJSONBlanks(from: position)
        return name
    }

    private static func skipValue(_ bytes: Span<UInt8>, _ position: inout Int) throws(Malformed) {
        guard let end = bytes.endOfJSONValue(from: position) else {
            throw Malformed(offset: position, reason: "a complete value is expected")
        }
        position = end
    }
}
