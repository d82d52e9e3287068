public import FoundationEssentials
public import HTTPTypes

/// A form as browsers send it: `multipart/form-data` (RFC 7578), with names and file names escaped as in the WHATWG HTML
/// standard.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Ann", withName: "author")
/// form.append(fileAt: "/tmp/rose.jpg", withName: "picture")
/// let (data, response) = try await session.upload(multipart: form, to: "https://example.com/pictures")
/// ```
///
/// The value is only a description: files are opened when the request is sent, and streamed from their place; the complete form
/// is never in memory or in a temporary file. The form can be sent any number of times, unless a part is a stream that can be
/// read only once. A file that is missing, unreadable or a directory is an error of kind ``TrellisError/Kind/file`` that names
/// the file, before anything is sent.
public struct MultipartFormData: Sendable {
    /// The subtype of the media type `multipart`.
    package enum Subtype: String, Sendable {
        case form = "form-data"
        case mixed
    }

    /// The boundary between the parts. The parts must not contain the boundary; a random one has 128 random bits, so that no part
    /// will.
    public let boundary: String
    /// The parts, in the order in which they are sent.
    public private(set) var parts: [Part] = []
    /// The subtype of `multipart` in the body's type; ``Subtype/form`` by default.
    package var subtype = Subtype.form

    /// Creates a form without parts.
    ///
    /// - Parameter boundary: A boundary of 1 to 70 letters, digits and `'()+_,-./:=?` (RFC 2046, section 5.1.1), for tests and
    ///   for servers with special requirements; random if `nil`. An invalid boundary is an error when the form is sent.
    public init(boundary: String? = nil) { self.boundary = boundary ?? MultipartBoundary.random() }

    /// The `Content-Type` of the form.
    public var contentType: String {
        "multipart/\(subtype.rawValue); boundary=\(MultipartBoundary.parameter(boundary))"
    }

    /// Adds a part.
    public mutating func append(_ part: Part) { parts.append(part) }

    /// Adds a text as a browser sends the value of a field: in UTF-8, without a content type.
    public mutating func append(_ text: String, withName name: String) {
        append(Data(text.utf8), withName: name)
    }

    /// Adds bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The name of the part.
    ///   - fileName: The file name of the bytes for the server; `nil` if the bytes are a plain value.
    ///   - mimeType: The part's type; if `nil`, the type for the extension of `fileName`, `application/octet-stream` if the
    ///     extension is unknown, and none without a `fileName`.
    ///   - headers: Additional fields; a field replaces the generated field of the same name.
    public mutating func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPFields = HTTPFields()
    ) {
        append(
            Part(.data(data, contentType: mimeType), name: name, fileName: fileName, headers: headers))
    }

    /// Adds a file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The name of the part.
    ///   - fileName: The name of the file for the server; if `nil`, the last component of its path.
    ///   - mimeType: The part's type; if `nil`, the type for the extension of the file name, `application/octet-stream` if the
    ///     extension is unknown.
    ///   - headers: Additional fields; a field replaces the generated field of the same name.
    public mutating func append(
        fileAt path: some FilePathConvertible, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HTTPFields = HTTPFields()
    ) {
        append(
            Part(.file(path, contentType: mimeType), name: name, fileName: fileName, headers: headers))
    }

    /// Adds any kind of request body as a part: ``RequestBody/stream(_:length:contentType:)`` for chunks that are made while they
    /// are sent, ``RequestBody/multipartMixed(_:boundary:)`` for several files under one name.
    ///
    /// ```swift
    /// form.append(.stream(chunks, length: 1_000_000), withName: "log", fileName: "today.log")
    /// ```
    ///
    /// - Parameters:
    ///   - body: The content; its content type is the type of the part.
    ///   - name: The name of the form's field.
    ///   - fileName: The file name of the part; without one, a file's own name.
    ///   - headers: Further fields of the part.
    public mutating func append(
        _ body: RequestBody, withName name: String, fileName: String? = nil, headers: HTTPFields = HTTPFields()
    ) {
        append(Part(body, name: name, fileName: fileName, headers: headers))
    }
}

/// Parts with their fields by text or as a list: `headers: ["X-Trace": "1"]`, see ``HeaderLiteral``. Everything else is as in the method of
/// the same name that takes `HTTPFields`.
extension MultipartFormData {
    /// Adds bytes in memory.
    @_disfavoredOverload
    public mutating func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil, headers: HeaderLiteral
    ) {
        append(data, withName: name, fileName: fileName, mimeType: mimeType, headers: headers.fields)
    }

    /// Adds a file, which is read while it is sent.
    @_disfavoredOverload
    public mutating func append(
        fileAt path: some FilePathConvertible, withName name: String, fileName: String? = nil, mimeType: String? = nil,
        headers: HeaderLiteral
    ) {
        append(fileAt: path, withName: name, fileName: fileName, mimeType: mimeType, headers: headers.fields)
    }

    /// Adds any kind of request body as a part.
    @_disfavoredOverload
    public mutating func append(
        _ body: RequestBody, withName name: String, fileName: String? = nil, headers: HeaderLiteral
    ) {
        append(body, withName: name, fileName: fileName, headers: headers.fields)
    }
}
