import ArgumentParser
import CURLSyntax
import Glibc
import TerminalKit
import Trellis

extension Options {
    /// The given options that set a body. More than one of them contradict each other.
    var bodyOptions: [String] {
        [
            ("--data", !content.data.isEmpty && !content.get), ("--json", content.json != nil),
            ("--form", !content.form.isEmpty),
            ("--part", !content.parts.isEmpty), ("--upload-file", content.uploadFile != nil),
        ].filter(\.1).map(\.0)
    }

    /// Checks the options about the body.
    func validateBody() throws {
        for value in content.form.map(\.value) where value.utf8.first.map({ "@<".utf8.contains($0) }) ?? false {
            throw ValidationError(
                "--form: '\(value)' would be sent as it is, because the form is URL-encoded; -F and --part send files.")
        }
        guard
            content.data.count == 1 || content.data.allSatisfy({ if case .standardInput = $0 { false } else { true } })
        else {
            throw ValidationError("Standard input (@-) is a body of its own: there is one --data.")
        }
        guard !content.get || !content.data.isEmpty || bodyOptions.isEmpty else {
            throw ValidationError("--get goes with --data.")
        }
    }

    /// Whether standard input is the body without being asked for: it is a pipe or a file, and a method that needs a body is named. A GET
    /// never reads it: the input of a loop or of a service is not meant for it. `--no-stdin` protects that input from a POST.
    var readsPipedInput: Bool {
        let name = method ?? commandTarget.method.map { Self.usualMethod($0) ?? $0 }
        guard bodyOptions.isEmpty, !content.get, !content.noStdin, urls.count == 1, let name,
            ["POST", "PUT", "PATCH"].contains(name)
        else { return false }
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return false }
        // An empty pipe whose writer has gone is no body.
        var polled = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let isEmpty = poll(&polled, 1, 0) == 1 && polled.revents & Int16(POLLIN) == 0
        return [S_IFIFO, S_IFREG].contains(status.st_mode & S_IFMT) && !isEmpty
    }

    /// What is said while standard input, which nobody has asked for, brings nothing.
    private var inputRemark: String? {
        isSilent ? nil : "trellis: waiting for the body on standard input (--no-stdin sends none)"
    }

    /// The title of the body's progress; `nil` if nobody is to see it, or the body is not sent.
    private var uploadTitle: String? {
        let isSent = !tools.printsCURLCommand && !tools.swift && tools.`repeat` == nil
        return isSent && Terminal.error.isTerminal && !tools.silent && places.output == nil ? "sent" : nil
    }

    /// The texts of `--data`, joined as curl does it.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be read.
    private func joinedData() throws -> Data {
        var joined = Data()
        for (index, piece) in content.data.enumerated() {
            if index > 0 { joined.append(UInt8(ascii: "&")) }
            switch piece {
            case .text(let text): joined.append(contentsOf: text.utf8)
            case .standardInput: break
            case .file(let path):
                do { joined.append(try FormText.contents(of: path)) } catch { throw RequestFailure("file", "\(error)") }
            }
        }
        return joined
    }

    /// Returns the URL with the texts of `--data` in its query, for `--get`.
    func addingData(to url: String) throws -> String {
        guard content.get, !content.data.isEmpty else { return url }
        return Self.adding(String(decoding: try joinedData(), as: UTF8.self), toQueryOf: url)
    }

    /// Returns the URL with a text at the end of its query.
    static func adding(_ text: String, toQueryOf url: String) -> String {
        guard !text.isEmpty else { return url }
        let parts = url[...].cut(at: "#")
        let start = parts?.before ?? url[...]
        let mark = !start.utf8.contains(UInt8(ascii: "?")) ? "?" : start.utf8.last == UInt8(ascii: "?") ? "" : "&"
        return "\(start)\(mark)\(text)" + (parts.map { "#\($0.after)" } ?? "")
    }

    /// Returns the URL of `--upload-file`: a folder's gets the name of the file.
    func uploadURL(_ url: String) throws -> String {
        guard let file = content.uploadFile, url.utf8.last == UInt8(ascii: "/"), file != "-", file != ".",
            let name = file[...].lastPathComponent
        else { return url }
        return url + name.percentEncoded
    }

    /// Returns the name of a source of the body that cannot be read twice; `nil` if there is none.
    ///
    /// - Throws: ``RequestFailure`` for a file that does not exist.
    func sourceReadOnce() throws -> String? {
        for source in content.data + [content.json].compactMap(\.self) + content.parts.map(\.content) {
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
        (content.data + [content.json].compactMap(\.self) + content.parts.map(\.content)).count {
            if case .standardInput = $0 { true } else { false }
        }
    }

    /// Returns the body that the options describe.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be read.
    func makeBody() throws -> RequestBody? {
        if let json = content.json {
            var body = try json.body(uploadTitle)
            body.contentType = "application/json"
            return body
        }
        if !content.form.isEmpty { return formBody }
        if !content.parts.isEmpty { return .multipart(try multipartForm()) }
        if let file = content.uploadFile {
            return try (file == "-" || file == "." ? BodyArgument.standardInput : .file(file)).body(uploadTitle)
        }
        guard let first = content.data.first, !content.get else {
            return readsPipedInput ? try DescriptorChunks.standardInput(remarking: inputRemark).body(uploadTitle) : nil
        }
        var body = content.data.count == 1 ? try first.body(uploadTitle) : .data(try joinedData())
        body.contentType = "application/x-www-form-urlencoded"
        return body
    }

    /// The body of `--form`, in the order of the options, which an `Encodable` value with its unique keys could not have.
    private var formBody: RequestBody {
        let encoded = Request("?").addingQuery(content.form.items).url.dropFirst()
        return .data(Data(encoded.utf8), contentType: "application/x-www-form-urlencoded")
    }

    private func multipartForm() throws -> MultipartFormData {
        var multipart = MultipartFormData()
        for part in content.parts {
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
    ///
    /// - Parameter title: The title under which the progress is shown; `nil` if it is not shown.
    fileprivate func body(_ title: String? = nil) throws -> RequestBody {
        switch self {
        case .text(let text): return .data(Data(text.utf8))
        case .standardInput: return try DescriptorChunks.standardInput().body(title)
        case .file(let path):
            guard try DescriptorChunks.isRegularFile(path) else { return DescriptorChunks(path).body(title) }
            guard let title, let size = DescriptorChunks.size(path) else { return .file(path) }
            let chunks = CountedChunks(chunks: DescriptorChunks(path, length: size), title: title)
            return .stream(length: size) { chunks }
        }
    }

    /// The name of a pipe as the file name of a part; the framework derives the name of a regular file itself.
    fileprivate var streamedFileName: String? {
        guard case .file(let path) = self else { return nil }
        return path[...].lastPathComponent
    }
}

extension DescriptorChunks {
    fileprivate func body(_ title: String? = nil) -> RequestBody {
        guard let title else { return .stream(self, length: length) }
        return .stream(CountedChunks(chunks: self, title: title), length: length)
    }
}
