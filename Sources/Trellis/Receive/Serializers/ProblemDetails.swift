/// What went wrong, as servers say it in `application/problem+json` (RFC 9457).
///
/// ```swift
/// do {
///     return try await session.request(url).decoding(User.self, orError: ProblemDetails.self)
/// } catch let error as ErrorResponse<ProblemDetails> {
///     print(error.body.title ?? error.body.type)
/// }
/// ```
///
/// Everything is optional, and a member whose value is not of its type is ignored (RFC 9457, section 3.1), so any JSON object
/// decodes.
public struct ProblemDetails: Sendable, Hashable {
    /// The kind of problem: a URI reference; `about:blank` where there is none, which says no more than the status does.
    public var type = "about:blank"
    /// A short summary, the same for every problem of the kind.
    public var title: String?
    /// The status that the server sent, as it says.
    public var status: Int?
    /// What happened this time.
    public var detail: String?
    /// This occurrence: a URI reference.
    public var instance: String?
    /// The members beyond those of the standard.
    public var extensions: [String: JSONValue] = [:]

    /// A problem of which nothing is known.
    public init() {}
}

extension ProblemDetails: Codable {
    /// Decodes an object, and ignores members that are not of their type.
    public init(from decoder: any Decoder) throws {
        var members = try [String: JSONValue](from: decoder)
        type = members.removeValue(forKey: "type")?.stringValue ?? type
        title = members.removeValue(forKey: "title")?.stringValue
        status = members.removeValue(forKey: "status")?.integerValue
        detail = members.removeValue(forKey: "detail")?.stringValue
        instance = members.removeValue(forKey: "instance")?.stringValue
        extensions = members
    }

    /// Encodes an object with the members that there are.
    public func encode(to encoder: any Encoder) throws {
        var members = extensions
        members["type"] = .string(type)
        members["title"] = title.map(JSONValue.string)
        members["status"] = status.map(JSONValue.integer)
        members["detail"] = detail.map(JSONValue.string)
        members["instance"] = instance.map(JSONValue.string)
        try members.encode(to: encoder)
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// Title and detail, or the kind where there are none.
    public var description: String {
        let words = [title, detail].compactMap { $0 }
        return words.isEmpty ? type : words.joined(separator: ": ")
    }
}
