/// An item of `--stream lines|…`.
enum StreamItem: Sendable {
    /// A line, without its end.
    case line(String)

    /// What is printed, on one line.
    var text: String {
        switch self {
        case .line(let line): line
        }
    }

    /// The item in a report.
    var json: JSONValue {
        switch self {
        case .line(let line): .text(line)
        }
    }
}
