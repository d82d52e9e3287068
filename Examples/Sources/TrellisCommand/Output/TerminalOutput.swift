import TerminalKit
import Trellis

/// An output of head and body for a terminal, with colours, indented JSON, text in its charset, and no control characters of the server.
struct TerminalOutput: Output, @unchecked Sendable {
    /// The size up to which JSON is indented, in bytes.
    private static let largestJSON = 4 << 20

    private let terminal = Terminal.output
    /// Whether the heads of earlier responses are shown too.
    let showsEveryHead: Bool
    /// The JSON text received so far; `nil` if the body is shown as it arrives.
    private var json: Data?
    private var type = ""
    private var isFirst = true
    /// The conversion of the text to UTF-8; `nil` if it needs none.
    private var charset: CharsetText?
    /// The charset of the text if it cannot be converted and nobody has been told so.
    private var unknownCharset: String?
    private var text = TerminalText()
    private var endsLine = true

    /// Whether warnings are left out.
    private let isSilent: Bool

    init(showsEveryHead: Bool, isSilent: Bool) { (self.showsEveryHead, self.isSilent) = (showsEveryHead, isSilent) }

    mutating func begin(_ head: Response, after earlier: String) async throws {
        var text =
            (showsEveryHead ? TerminalText.shown(earlier) : "") + terminal.styled("HTTP/\(head.version) ", .faint)
        text += terminal.styled("\(head.status)", style(of: head.status))
        for field in head.headers {
            text += "\n" + terminal.styled(field.name.rawName, .cyan) + ": " + TerminalText.shown(field.value)
        }
        try await StandardOutput.write(text + "\n\n")
        type = head.headers[.contentType].map { $0[...].before(";").lowercasedASCII() } ?? ""
        let name = head.headers[.contentType].flatMap { MediaType($0)?.charset } ?? ""
        charset = CharsetText(charset: name)
        unknownCharset = charset == nil && !isSilent && !CharsetText.isUTF8(name) ? name : nil
        if type == "application/json" || type.hasSuffix("+json") { json = Data() }
    }

    mutating func end(after earlier: String) async throws {
        if showsEveryHead { try await StandardOutput.write(TerminalText.shown(earlier)) }
    }

    mutating func chunk(_ bytes: Data) async throws -> Bool {
        if json != nil {
            json?.append(bytes)
            if let whole = json, whole.count > Self.largestJSON {
                json = nil
                return try await show(whole)
            }
            return true
        }
        return try await show(bytes)
    }

    mutating func item(_ item: StreamItem) async throws {
        try await StandardOutput.write(TerminalText.shown(item.text) + "\n")
    }

    /// Ignores the beginning of the body, which is part of the failure's message.
    func refuse(_ beginning: Data) {}

    mutating func end(_ outcome: Outcome) async throws {
        if let json, !json.isEmpty {
            let printer = JSONPrinter(terminal: terminal)
            // A text that is not JSON, or was cut off, is shown as received.
            if let pretty = printer.pretty(Data(text.shown(json))) {
                try await StandardOutput.write(pretty + "\n")
                endsLine = true
            } else {
                _ = try await show(json)
            }
        }
        if !endsLine { try await StandardOutput.write("\n") }
    }

    private mutating func show(_ bytes: Data) async throws -> Bool {
        defer { isFirst = false }
        if isFirst, bytes.prefix(4096).contains(0) {
            let note = "[\(type.isEmpty ? "a binary body" : TerminalText.shown(type)), not shown: > FILE keeps it]\n"
            try await StandardOutput.write(terminal.styled(note, .magenta))
            return false
        }
        if let name = unknownCharset, bytes.contains(where: { $0 >= 0x80 }) {
            unknownCharset = nil
            Terminal.error.print(
                Terminal.error.styled("trellis: ", .magenta)
                    + "the charset '\(TerminalText.shown(name))' is not known: the text is shown as it came")
        }
        try await StandardOutput.write(text.shown(charset?.utf8(bytes) ?? Array(bytes)))
        endsLine = bytes.last == 0x0a
        return true
    }

    private func style(of status: HTTPResponse.Status) -> Style {
        switch status.kind {
        case .successful: .green
        case .redirection: .cyan
        case .clientError, .serverError: .red
        default: .magenta
        }
    }
}
