import Trellis

extension Options {
    /// Whether there is a body.
    var hasBody: Bool { !bodyOptions.isEmpty }

    /// The options that give a body; more than one contradict each other.
    var bodyOptions: [String] {
        [("--data", data != nil), ("--json", json != nil), ("--form", !form.isEmpty), ("--part", !parts.isEmpty)]
            .filter(\.1).map(\.0)
    }

    /// Something that the body is read from and that cannot be read twice.
    ///
    /// - Throws: ``RequestFailure`` for a file that is not there.
    func sourceReadOnce() throws -> String? {
        for source in [data, json].compactMap(\.self) + parts.map(\.content) {
            switch source {
            case .text: break
            case .standardInput: return "standard input"
            case .file(let path): if !(try DescriptorChunks.isRegularFile(path)) { return path }
            }
        }
        return nil
    }

    /// How often the body asks for standard input.
    var standardInputCount: Int {
        ([data, json].compactMap(\.self) + parts.map(\.content)).count {
            if case .standardInput = $0 { true } else { false }
        }
    }

    /// The body that the options give.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be read.
    func makeBody() throws -> RequestBody? {
        if let json {
            var body = try json.body()
            body.contentType = "application/json"
            return body
        }
        if !form.isEmpty { return formBody }
        if !parts.isEmpty { return .multipart(try multipartForm()) }
        return try data?.body()
    }

    /// In the order of the options, which an `Encodable` value with its unique keys could not have.
    private var formBody: RequestBody {
        let encoded = Request("?").addingQuery(form.items).url.dropFirst()
        return .data(Data(encoded.utf8), contentType: "application/x-www-form-urlencoded")
    }

    private func multipartForm() throws -> MultipartFormData {
        var multipart = MultipartFormData()
        for part in parts {
            var body = try part.content.body()
            body.contentType = part.type
            multipart.append(body, withName: part.name, fileName: part.fileName ?? part.content.streamedFileName)
        }
        return multipart
    }
}

extension [NamedValue] {
    /// Items of a query.
    var items: [URLQueryItem] { map { URLQueryItem(name: $0.name, value: $0.value) } }
}

extension BodyArgument {
    /// The body of the request, or of a part. What cannot be read twice, such as a pipe, is streamed as it comes.
    fileprivate func body() throws -> RequestBody {
        switch self {
        case .text(let text): .data(Data(text.utf8))
        case .standardInput: try DescriptorChunks.standardInput().body
        case .file(let path):
            if try DescriptorChunks.isRegularFile(path) { .file(path) } else { DescriptorChunks(path).body }
        }
    }

    /// What a pipe is called, as a file would be by itself.
    fileprivate var streamedFileName: String? {
        guard case .file(let path) = self else { return nil }
        return path[...].lastPathComponent
    }
}

extension DescriptorChunks {
    fileprivate var body: RequestBody { .stream(self, length: length) }
}
