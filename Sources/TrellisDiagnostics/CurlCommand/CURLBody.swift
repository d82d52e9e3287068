import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The body of a request, as options and input of a curl command.
struct CURLBody {
    /// The way in which curl gets the body.
    private enum Form {
        case none
        /// An empty body, whose length of zero the method sends.
        case empty
        case data(Data)
        /// The number of bytes of a body in memory that is too large to be shown, or coded.
        case long(Int)
        case file(String)
        case stream
        /// The `--form` and `--form-string` options with their arguments, and remarks on details that the options cannot express.
        case form([[String]], remarks: [String])
    }

    private let form: Form
    /// The remark about a part of the body that is left out because it may hold secrets; `nil` if all of the body is there.
    private let remark: String?
    /// The coding that the command applies to the body, if any.
    private let coding: RequestCompression.Algorithm?
    /// The body's own type; `nil` if the body is a form, whose type curl adds.
    let contentType: String?

    init(_ request: Request, _ options: CURLDescriptionOptions) {
        let existing = request.headers[.contentEncoding] ?? options.defaultHeaders[.contentEncoding]
        let isCoded = (try? request.compression?.applies(to: request, existing: existing)) ?? false
        var remark: String?
        switch request.body?.source {
        case nil: form = request.method.expectsContent ? .empty : .none
        case .data(let data) where options.maximumBodySize.isExceeded(by: data.count): form = .long(data.count)
        // The caller has coded the body, and its secrets cannot be found.
        case .data(let data) where !options.revealsSecrets && !isCoded && Self.hasCoding(existing):
            form = .long(data.count)
        case .data(let data):
            let type =
                request.headers[.contentType] ?? request.body?.contentType ?? options.defaultHeaders[.contentType]
            if options.revealsSecrets {
                form = .data(data)
            } else {
                let (shown, reason) = BodyRedaction.redacted(data, type: type ?? "")
                form = .data(shown)
                remark = reason
            }
        case .file(let path): form = .file(path)
        case .stream: form = .stream
        case .multipart(let multipart) where options.maximumBodySize.isExceeded(by: multipart.countInMemory):
            form = .long(multipart.countInMemory)
        case .multipart(let multipart):
            var shown = multipart
            if !options.revealsSecrets { (shown, remark) = CURLForm.redacted(multipart) }
            form = Self.form(shown, isCoded: isCoded)
        }
        self.remark = remark
        if case .form = form { contentType = nil } else { contentType = request.body?.contentType }
        if case .form = form { coding = nil } else { coding = isCoded ? request.compression?.algorithm : nil }
    }

    /// Returns whether a `Content-Encoding` names a coding other than `identity`, which is none.
    private static func hasCoding(_ value: String?) -> Bool {
        value.map { $0.lowercasedASCII() != "identity" && !$0.isEmpty } ?? false
    }

    /// The `Content-Encoding` that the command applies to the body.
    var contentEncoding: String? { coding?.rawValue }

    /// Whether curl would add a `Content-Type` that the request does not have.
    var needsTypeSuppressed: Bool {
        switch form {
        case .none, .form: false
        case .empty, .data, .long, .file, .stream: true
        }
    }

    /// Adds the options, input and remarks of the body to a command.
    func add(to command: inout CURLCommand) {
        if let remark { command.remarks.append("of the body, \(remark)") }
        switch form {
        case .none: break
        case .empty: command.add("--data-binary", "")
        case .long(let count):
            read(nil, &command)
            command.remarks.append("the body, \(count) bytes, is not shown")
        case .data(let data):
            guard coding == nil, let text = ShellQuoting.showableText(data) else {
                return read(ShellQuoting.printing(data), &command)
            }
            // After --data-binary, a leading @ would name a file.
            command.add(text.hasBytePrefix("@") ? "--data-raw" : "--data-binary", text)
        case .file(let path) where coding == nil: command.add("--data-binary", "@\(CURLForm.path(path))")
        case .file(let path): read("cat \(ShellQuoting.quote(CURLForm.path(path)))", &command)
        case .stream:
            read(nil, &command)
            command.remarks.append("the body is a stream: give its bytes on the standard input")
        case .form(let groups, let remarks):
            for group in groups { command.add(group[0], group[1]) }
            command.remarks += remarks
        }
    }

    /// Adds the options with which curl reads the output of a command; `nil` if curl reads its standard input.
    private func read(_ source: String?, _ command: inout CURLCommand) {
        if let source { command.input.append(source) }
        switch coding {
        case nil: break
        case .gzip: command.input.append("gzip -c")
        case .deflate: command.input.append("pigz --zlib -c")
        case .brotli: command.input.append("brotli -c")
        case .zstd: command.input.append("zstd -c")
        }
        command.add("--data-binary", "@-")
    }

    private static func form(_ multipart: MultipartFormData, isCoded: Bool) -> Form {
        let form = CURLForm(multipart)
        if form.remarks.isEmpty, !isCoded { return .form(form.arguments, remarks: []) }
        // A form that is completely in memory can be given as the bytes to send.
        if let data = try? multipart.pieces().joined() { return .data(data) }
        let remark = "curl cannot compress the body"
        return .form(form.arguments, remarks: form.remarks + (isCoded ? [remark] : []))
    }
}

extension MultipartFormData {
    /// The number of bytes of the parts that are in memory.
    fileprivate var countInMemory: Int {
        parts.reduce(0) { count, part in
            switch part.body.source {
            case .data(let data): count + data.count
            case .multipart(let inner): count + inner.countInMemory
            case .file, .stream: count
            }
        }
    }
}
