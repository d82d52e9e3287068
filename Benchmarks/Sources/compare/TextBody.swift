import Glibc

/// A body of text: a sequence of elements of the same length. The raw value is the name of the file.
enum TextBody: String, Sendable {
    case lines, events, entries

    /// Returns an element of 100, 128 or 160 bytes: a line of a log; an event like those of language models, with the blank line; or a line
    /// of JSON.
    func element(_ number: Int) -> String {
        let id = String(1_000_000_000 + number)
        switch self {
        case .lines:
            return "2026-01-02T03:04:05.678Z INFO api.req id=\(id) method=GET path=/v1/users/42 status=200 ms=17.2\n"
        case .events:
            return #"data: {"id":"chatcmpl-\#(id)","object":"chat.completion.chunk","#
                + #""choices":[{"index":0,"delta":{"content":" some words."}}]}"# + "\n\n"
        case .entries:
            return #"{"time":"2026-01-02T03:04:05.678Z","level":"INFO","id":\#(id),"method":"GET","#
                + #""path":"/v1/users/42/orders","status":200,"ms":17.25,"note":"nothing to add."}"# + "\n"
        }
    }

    private var elementLength: Int {
        switch self {
        case .lines: 100
        case .events: 128
        case .entries: 160
        }
    }

    /// Writes a file of exactly this size in bytes, which is a multiple of all lengths.
    func write(to path: String, size: Int) throws {
        guard let file = fopen(path, "w") else { throw Failure("cannot make \(path)") }
        defer { fclose(file) }
        for number in 0..<size / elementLength {
            var element = element(number)
            let count = element.withUTF8 { fwrite($0.baseAddress, 1, $0.count, file) }
            guard count == elementLength else { throw Failure("an element of \(rawValue) of \(count) bytes") }
        }
    }
}
