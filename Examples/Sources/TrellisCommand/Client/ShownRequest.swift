import CURLSyntax
import Trellis

/// A request without its secrets, as the framework judges them: it makes the curl command, whose words have them REDACTED.
struct ShownRequest {
    private let words: [String]

    /// - Parameter revealsSecrets: Whether the secrets stay.
    init(_ request: Request, revealingSecrets revealsSecrets: Bool) {
        let command = request.cURLDescription(CURLDescriptionOptions(revealingSecrets: revealsSecrets))
        words = (try? ShellWords.words(command)) ?? []
    }

    /// The URL.
    var url: String { words.last ?? "" }

    /// The fields, with the credentials of the URL.
    var headers: [(name: String, value: String)] {
        values(of: "--header").compactMap { line in
            if let (name, value) = line[...].cut(at: ":") { return (String(name), String(value.drop { $0 == " " })) }
            return line.utf8.last == UInt8(ascii: ";") ? (String(line.dropLast()), "") : nil
        }
    }

    /// The text of the body; `nil` if curl would read it from a pipe, because it is no text.
    var text: String? { values(of: "--data-binary").first { $0 != "@-" } ?? values(of: "--data-raw").first }

    /// The text of the first part of a form; `nil` if it has a type or a file name.
    var partText: String? {
        values(of: "--form-string").first.flatMap { $0[...].cut(at: "=") }.map { String($0.after) }
    }

    /// Returns a URL without its secrets.
    static func url(_ url: String) -> String {
        let shown = ShownRequest(Request(url), revealingSecrets: false).url
        // The command has no fragment, and percent-encodes what curl would not take.
        return shown == ShownRequest(Request(url), revealingSecrets: true).url ? url : shown
    }

    /// Returns the value of a field without its secret.
    static func value(of field: HTTPField) -> String {
        var request = Request("http://localhost/")
        request.headers.append(field)
        return ShownRequest(request, revealingSecrets: false).headers.first?.value ?? field.value
    }

    private func values(of option: String) -> [String] {
        zip(words, words.dropFirst()).filter { $0.0 == option }.map(\.1)
    }
}
