import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// A form as curl's `--form` options.
struct CURLForm {
    /// The options, each with its argument.
    private(set) var arguments: [[String]] = []
    /// The reasons why the options do not express the complete form.
    private(set) var remarks: [String] = []

    init(_ form: MultipartFormData) { add(form.parts) }

    /// Returns the form without the values of parts whose names indicate a secret, and without the secrets of other parts in memory; and a
    /// remark if a piece of a part is left out because it may hold some.
    static func redacted(_ form: MultipartFormData) -> (form: MultipartFormData, remark: String?) {
        var remark: String?
        var result = MultipartFormData(boundary: form.boundary)
        result.subtype = form.subtype
        for part in form.parts {
            var part = part
            let isSecret =
                part.name.map { URLRedaction.isSecret($0[...]) } ?? false
                || part.headers[values: .contentDisposition].contains(where: MultipartRedaction.namesSecret)
            switch part.body.source {
            case .data where isSecret: part.body = .string("REDACTED", contentType: part.body.contentType)
            case .multipart where isSecret: part.body = .string("REDACTED", contentType: nil)
            case .data(let data):
                let codings = part.headers.compactMap { field in
                    MultipartRedaction.codingFields.contains(field.name.canonicalName) ? field.value : nil
                }
                let (shown, reason) = MultipartRedaction.redacted(
                    data, type: part.effectiveContentType ?? "text/plain", codings: codings)
                part.body = .data(shown, contentType: part.body.contentType)
                remark = remark ?? reason
            case .multipart(let inner):
                let (shown, reason) = redacted(inner)
                part.body = .multipart(shown)
                remark = remark ?? reason
            case .file, .stream: break
            }
            for index in part.headers.indices {
                part.headers[index].value = SecretFields.redacted(part.headers[index])
            }
            result.append(part)
        }
        return (result, remark)
    }

    /// Returns a path that curl does not mistake for its standard input, nor `cat` for an option.
    static func path(_ path: String) -> String { path.hasBytePrefix("-") ? "./\(path)" : path }

    private mutating func add(_ parts: [MultipartFormData.Part]) {
        for part in parts {
            let name = part.name ?? ""
            // curl treats the text before the first equals sign as the name, and has no escape for an equals sign.
            if name.utf8.contains(UInt8(ascii: "=")) || part.headers.contains(.contentDisposition)
                || !Self.canRead(type: part.effectiveContentType)
            {
                remarks.append("curl cannot say the part named \(name.debugDescription)")
            } else {
                add(part, name)
            }
        }
    }

    private mutating func add(_ part: MultipartFormData.Part, _ name: String) {
        switch part.body.source {
        case .data(let data):
            guard let text = ShellQuoting.showableText(data) else {
                remarks.append("the part named \(name.debugDescription) is not text, so it cannot be shown")
                return
            }
            let parameters = parameters(of: part, fileName: part.fileName)
            if parameters.isEmpty {
                append("--form-string", "\(name)=\(text)", for: name)
            } else {
                append("--form", "\(name)=\(Self.quote(text))\(parameters)", for: name)
            }
        case .file(let path):
            let parameters = parameters(of: part, fileName: part.fileName)
            append("--form", "\(name)=@\(Self.quote(Self.path(path)))\(parameters)", for: name)
        case .stream:
            let parameters = parameters(of: part, fileName: part.fileName)
            append("--form", "\(name)=\(part.fileName == nil ? "<" : "@")-\(parameters)", for: name)
            remarks.append("the part named \(name.debugDescription) is a stream: give its bytes on the standard input")
        case .multipart(let inner):
            arguments.append(["--form", "\(name)=(;type=multipart/\(inner.subtype.rawValue)"])
            add(inner.parts)
            arguments.append(["--form", "=)"])
        }
    }

    /// Adds an option, unless quoting has made its argument longer than an argument of a program may be (128 KiB on Linux).
    private mutating func append(_ option: String, _ argument: String, for name: String) {
        guard argument.utf8.count <= Self.longestArgument else {
            remarks.append("the part named \(name.prefix(100).debugDescription) is too long for an argument")
            return
        }
        arguments.append([option, argument])
    }

    /// The length of the longest argument, in bytes.
    private static var longestArgument: Int { 130_000 }

    /// Returns `true` if curl reads the type as it is written. curl stops at a type that does not consist of two words with a
    /// slash between them, treats a comma as the end of a file, and treats a parameter with one of the names below as an
    /// option of its own.
    private static func canRead(type: String?) -> Bool {
        guard let type else { return true }
        let pieces = type.split(atByte: ";", omittingEmptySubsequences: false)
        let words = pieces[0].split(atByte: "/", omittingEmptySubsequences: false)
        let areWords = words.allSatisfy { word in
            1...127 ~= word.utf8.count && word.utf8.allSatisfy { 0x21..<0x7F ~= $0 && $0 != UInt8(ascii: ",") }
        }
        let names = pieces.dropFirst().map {
            Substring($0.prefix(beforeBytes: "=").utf8.drop { $0 == 0x20 || $0 == 0x09 }).lowercasedASCII()
        }
        return words.count == 2 && areWords && !type.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: ",") }
            && !names.contains { ["type", "filename", "headers", "encoder"].contains($0) }
    }

    /// Returns the parameters of an option: the type, the file name and the fields of a part.
    private func parameters(of part: MultipartFormData.Part, fileName: String?) -> String {
        var text = ""
        if let type = part.effectiveContentType { text += ";type=\(type)" }
        if let fileName { text += ";filename=\(Self.quote(fileName))" }
        for field in part.headers.withoutInvalidNames where field.name != .contentType {
            text += ";headers=\(Self.quote("\(field.name.rawName): \(field.value)"))"
        }
        return text
    }

    /// Returns a text in double quotes, as curl reads them.
    private static func quote(_ text: String) -> String {
        "\"" + text.replacing(byte: "\\", with: "\\\\").replacing(byte: "\"", with: "\\\"") + "\""
    }
}
