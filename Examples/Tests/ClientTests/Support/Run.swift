import Foundation
import Testing

/// What a program has done: its exit status and its output.
struct Run: Sendable {
    /// The exit status, or 128 more than the number of the signal that has ended the process.
    let status: Int32
    let output: Data
    /// The standard error, without the loader's remark about another libcurl.
    let errors: String

    /// The standard output as text.
    var text: String { String(decoding: output, as: UTF8.self) }

    /// The lines of the standard output.
    var lines: [String] { text.lines }

    /// The lines of the standard error without those about the progress of downloads: each download that takes five seconds has one.
    var messages: [String] {
        let progress = #/^trellis: [^:]+: [0-9.]+ ([KMGT]i)?B(,| of |$)/#
        return errors.lines.filter { !$0.contains(progress) || $0.contains(" are kept: ") }
    }

    /// The JSON that `--report json` prints. Each use reads it again.
    var report: JSON {
        do { return try JSON(parsing: output) } catch {
            Issue.record("status \(status), no report in '\(text.prefix(1000))'; errors: \(errors)")
            return .missing
        }
    }

    /// The body in the report; `nil` if the report has none.
    var body: Data? { Data(base64Encoded: report["body"]["base64"].text) }

    /// The body in the report as text.
    var bodyText: String { String(decoding: body ?? Data(), as: UTF8.self) }

    /// The value of a field in the report: the last one of that name, as written.
    func field(_ name: String) -> String? { report["headers"].elements.last { $0[0] == .string(name) }?[1].text }
}

extension String {
    /// The lines, each of which ends with a line feed; the last one need not. A carriage return belongs to its line.
    var lines: [String] {
        var lines = utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        if lines.last == "" { lines.removeLast() }
        return lines
    }

    /// The lines that contain a text.
    func lines(with text: String) -> [String] { lines.filter { $0.contains(text) } }
}

extension [String] {
    /// The elements that begin with one of some texts, such as names of fields, in whatever case.
    func starting(with texts: String...) -> [String] {
        filter { line in texts.contains { line.utf8.map(lowercase).starts(with: $0.utf8.map(lowercase)) } }
    }
}

private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 32 : byte
}
