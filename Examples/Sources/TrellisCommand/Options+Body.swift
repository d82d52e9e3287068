import Trellis

extension Options {
    /// Indicates whether the request has a body.
    var hasBody: Bool { !bodyOptions.isEmpty }

    /// The given options that set a body. More than one of them contradict each other.
    var bodyOptions: [String] {
        [("--data", data != nil), ("--json", json != nil), ("--form", !form.isEmpty), ("--part", !parts.isEmpty)]
            .filter(\.1).map(\.0)
    }

    /// Returns the name of a source of the body that cannot be read twice; `nil` if there is none.
    ///
    /// - Throws: ``RequestFailure`` for a file that does not exist.
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

    /// The number of times that the body refers to standard input.
    var standardInputCount: Int {
        ([data, json].compactMap(\.self) + parts.map(\.content)).count {
            if case .standardInput = $0 { true } else { false }
        }
    }

    /// Returns the body that the options describe.
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

    /// The body of `--form`, in the order of the options, which an `Encodable` value with its unique keys could not have.
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
    /// The values as items of a query.
    var items: [URLQueryItem] { map { URLQueryItem(name: $0.name, value: $0.value) } }
}

extension BodyArgument {
    /// Returns the body of the request, or of a part. A source that cannot be read twice, such as a pipe, is streamed as its bytes arrive.
    fileprivate func body() throws -> RequestBody {
        switch self {
        case .text(let text): .data(Data(text.utf8))
        case .standardInput: try DescriptorChunks.standardInput().body
        case .file(let path):
            if try DescriptorChunks.isRegularFile(path) { .file(path) } else { DescriptorChunks(path).body }
        }
    }

    /// The name of a pipe as the file name of a part; the framework derives the name of a regular file itself.
    fileprivate var streamedFileName: String? {
        guard case .file(let path) = self else { return nil }
        return path[...].lastPathComponent
    }
}

extension DescriptorChunks {
    fileprivate var body: RequestBody { .stream(self, length: length) }
}
