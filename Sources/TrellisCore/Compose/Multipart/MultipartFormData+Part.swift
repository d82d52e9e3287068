import CurlEngine
public import HTTPTypes

extension MultipartFormData {
    /// A part of a form, or of a ``RequestBody/multipartMixed(_:boundary:)``.
    public struct Part: Sendable {
        /// The name of the field. The parts of a form must have a name; the parts of a mixed body have none.
        public var name: String?
        /// The file name of the part. If `nil`, the name of the file of a ``RequestBody/file(_:contentType:)``.
        public var fileName: String?
        /// The fields of the part. `Content-Disposition` and `Content-Type` are added unless they are among these fields.
        public var headers: HTTPFields
        /// The content. The body's ``RequestBody/contentType`` is the type of the part; without one, the type follows from the
        /// file name.
        public var body: RequestBody

        /// Creates a part.
        public init(
            _ body: RequestBody, name: String? = nil, fileName: String? = nil, headers: HTTPFields = HTTPFields()
        ) {
            self.body = body
            self.name = name
            self.fileName = fileName
            self.headers = headers
        }

        /// Creates a part with fields by text or as a list: see ``HeaderLiteral``.
        @_disfavoredOverload
        public init(_ body: RequestBody, name: String? = nil, fileName: String? = nil, headers: HeaderLiteral) {
            self.init(body, name: name, fileName: fileName, headers: headers.fields)
        }

        /// The file name that is sent, if any.
        var effectiveFileName: String? {
            if let fileName { return fileName }
            guard case .file(let path) = body.source else { return nil }
            return String(path.lastPathComponent)
        }

        /// The type that is sent, if any.
        package var effectiveContentType: String? {
            headers[.contentType] ?? body.contentType
                ?? effectiveFileName.map { MIMETypes.system.type(ofFileNamed: $0) ?? "application/octet-stream" }
        }

        /// Returns the field lines, and the empty line after them.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a form's part without a name, a field whose
        ///   name is invalid, or a value that contains a line break or a NUL.
        func head(in subtype: MultipartFormData.Subtype) throws(TrellisError) -> [UInt8] {
            if let name = headers.invalidName { throw .invalidFieldName(name) }
            var lines: [UInt8] = []
            if !headers.contains(.contentDisposition), let disposition = try disposition(in: subtype) {
                lines += "Content-Disposition: \(disposition)\r\n".utf8
            }
            if !headers.contains(.contentType), let type = effectiveContentType {
                try Self.check(type, of: .contentType)
                lines += "Content-Type: \(type)\r\n".utf8
            }
            for field in headers {
                try Self.check(field.value, of: field.name)
                lines += "\(field.name.rawName): ".utf8
                lines += field.octetsBeyondUTF8 ?? Array(field.value.utf8)
                lines += "\r\n".utf8
            }
            return lines + Array("\r\n".utf8)
        }

        /// Returns the value of `Content-Disposition`; `nil` if the field is not sent.
        private func disposition(in subtype: MultipartFormData.Subtype) throws(TrellisError) -> String? {
            let file = effectiveFileName.map { "; filename=\"\(MultipartEscaping.fileName($0))\"" } ?? ""
            switch (subtype, name) {
            case (.form, let name?): return "form-data; name=\"\(MultipartEscaping.name(name))\"\(file)"
            case (.form, nil): throw TrellisError(.invalidRequest(.body("a part of the form has no name")))
            case (.mixed, let name?): return "attachment; name=\"\(MultipartEscaping.name(name))\"\(file)"
            case (.mixed, nil): return file.isEmpty ? nil : "attachment\(file)"
            }
        }

        /// Checks that a value does not contain a line break or a NUL: the text after a line break would begin another field, or
        /// the content.
        private static func check(_ value: String, of name: HTTPField.Name) throws(TrellisError) {
            guard !value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
                throw TrellisError(.invalidRequest(.headerField(name.rawName)))
            }
        }
    }
}
