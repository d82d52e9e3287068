/// The description of a problem that a server sends as `application/problem+json` (RFC 9457).
///
/// ```swift
/// do {
///     return try await session.request(url).decode(User.self, orError: ProblemDetails.self)
/// } catch let error as ErrorResponse<ProblemDetails> {
///     print(error.body.title ?? error.body.type)
/// }
/// ```
///
/// Every member is optional, and a member whose value is not of its type is ignored (RFC 9457, section 3.1), so any JSON object
/// can be decoded, unless a number in it exceeds the range of `Double`.
public struct ProblemDetails: Sendable, Hashable {
    /// The kind of problem: a URI reference; `about:blank` if the server sent none, which means no more than the status does.
    public var type = "about:blank"
    /// A short summary, the same for every problem of the kind.
    public var title: String?
    /// The status of the response, as the problem description states it.
    public var status: Int?
    /// The explanation of this occurrence of the problem.
    public var detail: String?
    /// The identifier of this occurrence of the problem: a URI reference.
    public var instance: String?
    /// The members that the standard does not have.
    public var extensions: [String: JSONValue] = [:]

    /// Creates a description of an unknown problem.
    public init() {}
}

extension ProblemDetails: Codable {
    /// Decodes an object, and ignores members that are not of their type.
    ///
    /// - Throws: `DecodingError` for a value that is no object.
    public init(from decoder: any Decoder) throws { self.init(members: try [String: JSONValue](from: decoder)) }

    init(members: [String: JSONValue]) {
        var members = members
        type = members.removeValue(forKey: "type")?.stringValue ?? type
        title = members.removeValue(forKey: "title")?.stringValue
        status = members.removeValue(forKey: "status")?.integerValue
        detail = members.removeValue(forKey: "detail")?.stringValue
        instance = members.removeValue(forKey: "instance")?.stringValue
        extensions = members
    }

    /// Encodes an object with the members that have a value.
    ///
    /// - Throws: `EncodingError`, for example for a number that JSON cannot have.
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
    /// The title and the detail, or the kind if there is neither.
    public var description: String {
        let words = [title, detail].compactMap { $0 }
        return words.isEmpty ? type : words.joined(separator: ": ")
    }
}
