import CurlEngine
import HTTPTypes

/// What a download is going to be, as a response with all of it says.
struct Representation: Hashable, Sendable {
    /// What tells it from others; `nil` where it cannot be gone on with after an interruption.
    var validator: StrongValidator?
    /// Its bytes, where that is known.
    var total: Int64?
    /// Of what resource it is; `nil` where that is not known.
    var resource: String?

    init(validator: StrongValidator?, total: Int64?, resource: String? = nil) {
        self.validator = validator
        self.total = total
        self.resource = resource
    }

    /// That of a response with all of it.
    ///
    /// A coded one cannot be gone on with: its bytes on the wire are not those in the file.
    ///
    /// - Parameter url: What has answered, after all redirects.
    init(_ fields: HTTPFields, of url: String? = nil) {
        resource = url.map(Self.resource)
        guard !Self.isCoded(fields) else { return }
        total = fields[.contentLength].flatMap { ContentRange.number($0) }
        let ranges = fields[.acceptRanges]?.lowercased()
        validator = ranges == "none" ? nil : StrongValidator(fields)
    }

    /// A validator tells representations of one resource from each other (RFC 9110, section 8.8.3), and redirects can lead to
    /// another one each time. The query does not count: those who redirect to signed URLs sign anew each time.
    static func resource(_ url: String) -> String { String(ResumeData.name(of: url).prefix(beforeBytes: "?")) }

    /// Whether this is a part of the same resource, as far as that is known.
    func isOfResource(_ url: String?) -> Bool {
        guard let resource, let url else { return true }
        return resource.hasSameBytes(as: Self.resource(url))
    }

    /// Texts are compared as bytes.
    static func == (one: Representation, other: Representation) -> Bool {
        one.validator == other.validator && one.total == other.total
            && one.resource.map { TextBytes($0) } == other.resource.map { TextBytes($0) }
    }

    /// Whether the body is not the bytes of the representation themselves (RFC 9110, section 8.4).
    static func isCoded(_ fields: HTTPFields) -> Bool {
        guard let coding = fields[.contentEncoding] else { return false }
        return !FieldScanner.elements(of: coding).allSatisfy { element in
            let name = element.filter { $0 != " " && $0 != "\t" }.lowercased()
            return name.isEmpty || name == "identity"
        }
    }
}
