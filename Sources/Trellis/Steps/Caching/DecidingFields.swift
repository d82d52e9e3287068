import CurlEngine
import HTTPTypes

/// The values that decide about the storing and the use of a response, found in one pass over its fields.
///
/// It is a class because it is passed on often, and has many parts.
final class DecidingFields: Sendable {
    /// The lines of a field.
    struct Lines: Sendable {
        private var first: String?
        private var areEqual = true

        /// Indicates whether there is a line.
        var arePresent: Bool { first != nil }

        /// The value of lines that are all equal; `nil` without a line, if they differ, or if they are not UTF-8.
        var single: String? { areEqual ? first : nil }

        fileprivate mutating func add(_ field: HTTPField) {
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

    /// The lines of `Date`.
    let date: Lines
    /// The lines of `Expires`.
    let expires: Lines
    /// The lines of `ETag`.
    let entityTag: Lines
    /// The lines of `Last-Modified`.
    let lastModified: Lines
    /// The first line of `Age`; `nil` without one.
    let age: String?
    /// The directives of `Cache-Control`.
    let directives: CacheDirectives
    /// Indicates whether there is a `Vary`.
    let hasVary: Bool
    /// Indicates whether there is a `Content-Encoding`.
    let hasCodings: Bool
    /// Indicates whether a `Connection` may name other fields.
    let mayNameOthers: Bool

    private init(_ reading: Reading) {
        (date, expires) = (reading.date, reading.expires)
        (entityTag, lastModified) = (reading.entityTag, reading.lastModified)
        (age, directives) = (reading.age, reading.directives)
        (hasVary, hasCodings, mayNameOthers) = (reading.hasVary, reading.hasCodings, reading.mayNameOthers)
    }

    /// Finds the values among some fields.
    convenience init(_ fields: HTTPFields) {
        var reading = Reading()
        for field in fields { reading.read(field) }
        self.init(reading)
    }

    /// Finds the values in a head that has been received, without parsing all of it.
    ///
    /// - Parameter nameLengths: The lengths of the names of all fields that decide, each as a bit.
    convenience init(_ head: ResponseHead, nameLengths: UInt64) {
        var reading = Reading()
        head.forEachField(nameLengths: nameLengths) { reading.read($0) }
        self.init(reading)
    }

    /// The values of the fields that were read so far.
    private struct Reading {
        var date = Lines()
        var expires = Lines()
        var entityTag = Lines()
        var lastModified = Lines()
        var age: String?
        var directives = CacheDirectives()
        var hasVary = false
        var hasCodings = false
        var mayNameOthers = false

        mutating func read(_ field: HTTPField) {
            let name = field.name.canonicalName
            // Most names have another length, which is found out faster.
            switch name.utf8.count {
            case 3 where name == "age": age = age ?? field.value
            case 4 where name == "date": date.add(field)
            case 4 where name == "etag": entityTag.add(field)
            case 4 where name == "vary": hasVary = true
            case 7 where name == "expires": expires.add(field)
            case 10 where name == "connection":
                let value = field.value
                if !value.hasSameBytes(as: "keep-alive"), !value.hasSameBytes(as: "close") { mayNameOthers = true }
            case 13 where name == "cache-control": directives.read(line: field.value)
            case 13 where name == "last-modified": lastModified.add(field)
            case 16 where name == "content-encoding": hasCodings = true
            default: break
            }
        }
    }
}
