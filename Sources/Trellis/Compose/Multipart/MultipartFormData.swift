public import FoundationEssentials
public import HTTPTypes

/// A form as browsers send it: `multipart/form-data` (RFC 7578), names and file names escaped as the WHATWG HTML standard
/// says.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Ann", withName: "author")
/// form.append(fileAt: "/tmp/rose.jpg", withName: "picture")
/// let (data, response) = try await session.upload(multipart: form, to: "https://example.com/pictures")
/// ```
///
/// It is a description: files are opened when the request is sent, and streamed from where they are; the form as a whole
/// is never in memory nor in a temporary file. It can be sent as often as you like, unless a part is a stream that can be
/// read once. A file that is missing, unreadable or a directory is an error of kind ``TrellisError/Kind/file`` that names
/// it, before anything is sent.
public struct MultipartFormData: Sendable {
    enum Subtype: String, Sendable {
        case form = "form-data"
        case mixed
    }

    /// What separates the parts. The parts must not hold it; a random one has 128 random bits, so that no part will.
    public let boundary: String
    /// The parts, in the order in which they are sent.
    public private(set) var parts: [Part] = []
    var subtype = Subtype.form

    /// A form without parts.
    ///
    /// - Parameter boundary: 1 to 70 letters, digits and `'()+_,-./:=?` (RFC 2046, section 5.1.1), for tests and for
    ///   servers that are particular about it; random if `nil`. One that is none is an error when the form is sent.
    public init(boundary: String? = nil) { self.boundary = boundary ?? MultipartBoundary.random() }

    /// The `Content-Type` of the form.
    public var contentType: String {
        "multipart/\(subtype.rawValue); boundary=\(MultipartBoundary.parameter(boundary))"
    }

    /// Adds a part.
    public mutating func append(_ part: Part) { parts.append(part) }

    /// Adds a text, as a browser sends the value of a field: in UTF-8, without a content type.
    public mutating func append(_ text: String, withName name: String) {
        append(Data(text.utf8), withName: name)
    }

    /// Adds bytes in memory.
    ///
    /// - Parameters:
    ///   - fileName: The name of the file that the bytes are to be for the server; `nil`: they are a plain value.
    ///   - mimeType: The part's type; `nil`: by the extension of `fileName`, none without a `fileName`.
    ///   - headerFields: More fields; one of these wins over the one that would be made.
    public mutating func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headerFields: HTTPFields = [:]
    ) {
        append(
            Part(.data(data, contentType: mimeType), name: name, fileName: fileName, headerFields: headerFields))
    }

    /// Adds a file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - fileName: The name of the file for the server; `nil`: the last component of its path.
    ///   - mimeType: The part's type; `nil`: by the extension of the file name, `application/octet-stream` if it says
    ///     nothing.
    ///   - headerFields: More fields; one of these wins over the one that would be made.
    public mutating func append(
        fileAt path: String, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headerFields: HTTPFields = [:]
    ) {
        append(
            Part(.file(path, contentType: mimeType), name: name, fileName: fileName, headerFields: headerFields))
    }

    /// Adds whatever a request's body can be: ``RequestBody/stream(_:length:contentType:)`` for chunks that are made while
    /// they are sent, ``RequestBody/multipartMixed(_:boundary:)`` for several files under one name.
    ///
    /// ```swift
    /// form.append(.stream(chunks, length: 1_000_000), withName: "log", fileName: "today.log")
    /// ```
    public mutating func append(
        _ body: RequestBody, withName name: String, fileName: String? = nil, headerFields: HTTPFields = [:]
    ) {
        append(Part(body, name: name, fileName: fileName, headerFields: headerFields))
    }
}
