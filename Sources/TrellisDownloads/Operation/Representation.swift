import CurlEngine
import HTTPTypes
import TrellisCore

/// The identity and the size of the file that is downloaded, from a response with the complete representation.
struct Representation: Hashable, Sendable {
    /// The validator of the representation; `nil` if the download cannot be resumed after an interruption.
    var validator: StrongValidator?
    /// The size in bytes; `nil` if unknown.
    var total: Int64?
    /// The URL of the resource, without the query; `nil` if unknown.
    var resource: String?

    init(validator: StrongValidator?, total: Int64?, resource: String? = nil) {
        self.validator = validator
        self.total = total
        self.resource = resource
    }

    /// Creates the representation that a complete response carries.
    ///
    /// A download with a content coding cannot be resumed: the bytes on the wire are not those in the file.
    ///
    /// - Parameter url: The URL of the response, after all redirects.
    init(_ fields: HTTPFields, of url: String? = nil) {
        resource = url.map(Self.resource)
        guard !Self.isCoded(fields) else { return }
        total = fields[.contentLength].flatMap { ContentRange.number($0) }
        let ranges = fields[.acceptRanges]?.lowercasedASCII()
        validator = ranges == "none" ? nil : StrongValidator(fields)
    }

    /// Returns the URL of a resource without its query. A validator distinguishes representations of one resource (RFC 9110,
    /// section 8.8.3), and redirects can lead to another resource each time. The query does not count: redirects to signed URLs
    /// carry a new signature each time.
    static func resource(_ url: String) -> String { String(ResumeData.name(of: url).prefix(beforeBytes: "?")) }

    /// Returns whether a URL is of the same resource, as far as that is known.
    func isOfResource(_ url: String?) -> Bool {
        guard let resource, let url else { return true }
        return resource.hasSameBytes(as: Self.resource(url))
    }

    /// Compares texts as bytes.
    static func == (one: Representation, other: Representation) -> Bool {
        one.validator == other.validator && one.total == other.total
            && one.resource.map { TextBytes($0) } == other.resource.map { TextBytes($0) }
    }

    /// Returns whether a content coding makes the body differ from the bytes of the representation (RFC 9110, section 8.4).
    static func isCoded(_ fields: HTTPFields) -> Bool {
        guard let coding = fields[.contentEncoding] else { return false }
        return !FieldScanner.elements(of: coding).allSatisfy { element in
            let name = element.withoutBlanks.lowercasedASCII()
            return name.isEmpty || name == "identity"
        }
    }
}
