import CurlEngine
import HTTPTypes

/// The values that decide about the storing and the use of a response, found in one pass over its fields.
struct DecidingFields: Sendable {
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

    private(set) var date = Lines()
    private(set) var expires = Lines()
    private(set) var entityTag = Lines()
    private(set) var lastModified = Lines()
    /// The first line of `Age`; `nil` without one.
    private(set) var age: String?
    /// The directives of `Cache-Control`.
    private(set) var directives = CacheDirectives()
    /// Indicates whether there is a `Vary`.
    private(set) var hasVary = false
    /// Indicates whether there is a `Content-Encoding`.
    private(set) var hasCodings = false
    /// Indicates whether a `Connection` may name other fields.
    private(set) var mayNameOthers = false

    init(_ fields: HTTPFields) {
        for field in fields {
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
