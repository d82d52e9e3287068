import HTTPTypes

/// What a download is going to be, as a response with all of it says.
struct Representation: Hashable, Sendable {
    /// What tells it from others; `nil` where it cannot be gone on with after an interruption.
    var validator: StrongValidator?
    /// Its bytes, where that is known.
    var total: Int64?

    init(validator: StrongValidator?, total: Int64?) {
        self.validator = validator
        self.total = total
    }

    /// That of a response with all of it.
    ///
    /// A coded one cannot be gone on with: its bytes on the wire are not those in the file.
    init(_ fields: HTTPFields) {
        guard !Self.isCoded(fields) else { return }
        total = fields[.contentLength].flatMap { ContentRange.number($0) }
        let ranges = fields[.acceptRanges]?.lowercased()
        validator = ranges == "none" ? nil : StrongValidator(fields)
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
