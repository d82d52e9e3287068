import CurlEngine
public import HTTPTypes

extension MultipartFormData {
    /// A part of a form, or of a ``RequestBody/multipartMixed(_:boundary:)``.
    public struct Part: Sendable {
        /// The name of the field. A form's parts must have one; those of a mixed body have none.
        public var name: String?
        /// The name of the file that the part is; `nil` for a ``RequestBody/file(_:contentType:)``: that of the file.
        public var fileName: String?
        /// Fields of the part. `Content-Disposition` and `Content-Type` are made unless they are among these.
        public var headerFields: HTTPFields
        /// The content. Its ``RequestBody/contentType`` is that of the part; without one it follows from the file's name.
        public var body: RequestBody

        /// A part.
        public init(
            _ body: RequestBody, name: String? = nil, fileName: String? = nil, headerFields: HTTPFields = [:]
        ) {
            self.body = body
            self.name = name
            self.fileName = fileName
            self.headerFields = headerFields
        }

        /// The file name that is sent.
        var effectiveFileName: String? {
            if let fileName { return fileName }
            guard case .file(let path) = body.source else { return nil }
            return String(path.lastPathComponent)
        }

        /// The type that is sent.
        var effectiveContentType: String? {
            headerFields[.contentType] ?? body.contentType
                ?? effectiveFileName.map { MIMETypes.system.type(ofFileNamed: $0) ?? "application/octet-stream" }
        }

        /// The field lines, and the empty line after them.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest``.
        func head(in subtype: MultipartFormData.Subtype) throws(TrellisError) -> String {
            var lines = ""
            if !headerFields.contains(.contentDisposition), let disposition = try disposition(in: subtype) {
                lines += "Content-Disposition: \(disposition)\r\n"
            }
            if !headerFields.contains(.contentType), let type = effectiveContentType {
                try Self.check(type, of: .contentType)
                lines += "Content-Type: \(type)\r\n"
            }
            for field in headerFields {
                try Self.check(field.value, of: field.name)
                lines += "\(field.name.rawName): \(field.value)\r\n"
            }
            return lines + "\r\n"
        }

        private func disposition(in subtype: MultipartFormData.Subtype) throws(TrellisError) -> String? {
            let file = effectiveFileName.map { "; filename=\"\(MultipartEscaping.fileName($0))\"" } ?? ""
            switch (subtype, name) {
            case (.form, let name?): return "form-data; name=\"\(MultipartEscaping.name(name))\"\(file)"
            case (.form, nil): throw TrellisError(.invalidRequest(.body("a part of the form has no name")))
            case (.mixed, let name?): return "attachment; name=\"\(MultipartEscaping.name(name))\"\(file)"
            case (.mixed, nil): return file.isEmpty ? nil : "attachment\(file)"
            }
        }

        /// What would end a line would begin another field, or the content.
        private static func check(_ value: String, of name: HTTPField.Name) throws(TrellisError) {
            guard !value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
                throw TrellisError(.invalidRequest(.headerField(name.rawName)))
            }
        }
    }
}
