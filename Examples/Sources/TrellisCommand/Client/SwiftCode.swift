import Trellis

/// The Swift code for the request of the command line, for `--swift`.
struct SwiftCode {
    let options: Options

    /// Returns the code.
    ///
    /// - Throws: ``RequestFailure`` for options that no request can express.
    func text() throws -> String {
        let request = try options.makeRequest()
        var lines = ["import Trellis", ""] + configuration
        var head = Request(request.url)
        head.headers = request.headers
        let shown = ShownRequest(head, revealingSecrets: options.tools.showSecrets)
        lines.append("var request = Request(\(Self.literal(shown.url)), method: \(Self.name(of: request.method)))")
        var names: Set<String> = []
        for field in shown.headers {
            let isFirst = names.insert(field.name.lowercasedASCII()).inserted
            let name = Self.literal(field.name)
            let value = Self.literal(field.value)
            lines.append(
                "request = request."
                    + (isFirst ? "withHeader(\(name), \(value))" : "addingHeader(.init(\(name))!, \(value))"))
        }
        lines += credentials + body(request)
        if request.decodesContent == false { lines.append("request.decodesContent = false") }
        if request.sendsURLUnchanged { lines.append("request.sendsURLUnchanged = true") }
        if request.compression != nil { lines.append("request.compression = .gzip") }
        return (lines + call).joined(separator: "\n") + "\n"
    }

    /// The lines that make the session.
    private var configuration: [String] {
        var lines: [String] = []
        if let retries = options.limits.retries, retries > 0 {
            lines.append("configuration.retry = RetryPolicy(retryLimit: \(retries))")
        }
        if options.limits.noRedirects { lines.append("configuration.steps.redirectHandler = .doNotFollow") }
        if let redirects = options.limits.redirects {
            lines.append("configuration.redirects = RedirectPolicy(maximumRedirects: \(redirects))")
        }
        if options.tls.insecure { lines.append("configuration.tls = .insecureWithoutAnyVerification()") }
        if let file = options.tls.cacert, !options.tls.insecure {
            lines.append(
                "configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: \(Self.literal(file)))")
        }
        if let proxy = options.proxies.proxy?.proxy {
            lines.append("configuration.proxy = .always(try Proxy(\(Self.literal(proxy.url))))")
        }
        if options.http != .auto {
            lines.append("configuration.httpVersion = .\(options.http.policy(for: options.url))")
        }
        if let jar = options.credentials.cookieJar {
            let storage = jar == "-" || jar == "/dev/null" ? "CookieJar()" : "CookieFile(path: \(Self.literal(jar)))"
            lines.append("configuration.cookies = \(storage)")
        }
        guard !lines.isEmpty else { return ["let session = Session()"] }
        return ["var configuration = SessionConfiguration()"] + lines + [
            "let session = Session(configuration: configuration)"
        ]
    }

    /// The line that adds the credentials of `--user`.
    private var credentials: [String] {
        guard let user = options.credentials.user else { return [] }
        if options.signing.awsSigv4 != nil { return ["// Sign with an AWSSigner of TrellisSignatures."] }
        let parts = user[...].cut(at: ":")
        let name = Self.literal(String(parts?.before ?? user[...]))
        let secret = Self.literal(options.tools.showSecrets ? String(parts?.after ?? "") : "REDACTED")
        switch options.credentials.auth ?? .basic {
        case .bearer:
            let token = Self.literal(options.tools.showSecrets ? user : "REDACTED")
            return ["request = request.withAuthorization(bearerToken: \(token))"]
        case .basic: return ["request = request.withAuthorization(username: \(name), password: \(secret))"]
        case .digest, .any: return ["// The server asks for the credentials first: \(name), \(secret)."]
        }
    }

    /// The lines that set the body.
    private func body(_ request: Request) -> [String] {
        let type = request.body?.contentType.map(Self.literal)
        if !options.content.parts.isEmpty {
            return ["var form = MultipartFormData()"]
                + options.content.parts.map { part in
                    var arguments = "\(Self.source(shown(part))), withName: \(Self.literal(part.name))"
                    if let name = part.fileName { arguments += ", fileName: \(Self.literal(name))" }
                    return "form.append(\(arguments))"
                } + ["request.body = .multipart(form)"]
        }
        let pieces = options.content.get ? [] : options.content.data
        if let json = options.content.json { return ["request.body = \(source(json, request))"] }
        if let file = options.content.uploadFile { return ["request.body = \(Self.source(.file(file), type))"] }
        if !options.content.form.isEmpty {
            let text = Request("?").addingQuery(options.content.form.items).url.dropFirst()
            return ["request.body = \(source(.text(String(text)), request))"]
        }
        if options.readsPipedInput { return ["request.body = \(Self.source(.standardInput))"] }
        if pieces.count == 1 { return ["request.body = \(source(pieces[0], request))"] }
        let texts = pieces.compactMap { if case .text(let text) = $0 { text } else { nil } }
        return pieces.isEmpty ? [] : ["request.body = \(source(.text(texts.joined(separator: "&")), request))"]
    }

    /// Returns the expression of a body without its secrets.
    private func source(_ content: BodyArgument, _ request: Request) -> String {
        let type = request.body?.contentType
        guard case .text(let text) = content else { return Self.source(content, type.map(Self.literal)) }
        var probe = Request("http://localhost/", method: .post)
        probe.headers = request.headers
        probe.body = .string(text, contentType: type)
        let shown = ShownRequest(probe, revealingSecrets: options.tools.showSecrets).text ?? text
        return Self.source(.text(shown), type.map(Self.literal))
    }

    /// Returns the content of a part without its secret.
    private func shown(_ part: PartArgument) -> BodyArgument {
        guard case .text(let text) = part.content else { return part.content }
        var form = MultipartFormData()
        form.append(.string(text, contentType: nil), withName: part.name)
        var probe = Request("http://localhost/", method: .post)
        probe.body = .multipart(form)
        return .text(ShownRequest(probe, revealingSecrets: options.tools.showSecrets).partText ?? text)
    }

    /// The lines that send the request.
    private var call: [String] {
        let limit = options.limits.deadline.map { ", timeout: .seconds(\($0))" } ?? ""
        if let folder = options.outputFolder {
            return [
                "let file = try await session.downloadRequest(request, to: .directory(\(Self.literal(folder)))).file"
            ]
        }
        if case .file = options.place {
            let path = Self.literal(options.places.output ?? "")
            return ["let file = try await session.downloadRequest(request, to: .file(\(path))).value"]
        }
        return [
            "let (data, response) = try await session.data(request\(limit))",
            "print(response.status, String(decoding: data, as: UTF8.self))",
        ]
    }

    /// Returns the expression of a body.
    private static func source(_ content: BodyArgument, _ type: String? = nil) -> String {
        let typed = type.map { ", contentType: \($0)" } ?? ""
        switch content {
        case .text(let text): return ".string(\(literal(text)), contentType: \(type ?? "nil"))"
        case .file(let path): return ".file(\(literal(path))\(typed))"
        case .standardInput: return ".file(\"/dev/stdin\"\(typed))"
        }
    }

    private static func name(of method: HTTPRequest.Method) -> String {
        let known: [HTTPRequest.Method] = [.get, .head, .post, .put, .delete, .options, .trace, .patch]
        guard known.contains(method) else { return "HTTPRequest.Method(\(literal(method.rawValue)))!" }
        return ".\(method.rawValue.lowercasedASCII())"
    }

    /// Returns a string literal. A text with quotes or backslashes is a raw one.
    static func literal(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        if isPlain, text.utf8.contains(where: { "\"\\".utf8.contains($0) }) {
            var marks = "#"
            while text.contains("\"\(marks)") || text.contains("\\\(marks)") { marks += "#" }
            return "\(marks)\"\(text)\"\(marks)"
        }
        let escaped = text.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default:
                scalar.value < 0x20 || scalar.value == 0x7F ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}
