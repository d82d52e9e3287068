import Glibc

/// One of the standard descriptors, as a terminal or something else.
public struct Terminal: Sendable {
    /// Whether people read it as it is written.
    public let isTerminal: Bool
    /// Whether it takes colours: terminals do, unless `NO_COLOR` is set or they are dumb.
    public let hasColor: Bool
    private let descriptor: CInt

    /// Where answers go.
    public static let output = Terminal(STDOUT_FILENO)
    /// Where messages and progress go.
    public static let error = Terminal(STDERR_FILENO)

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        let isPlain = getenv("NO_COLOR").map { $0[0] != 0 } ?? false
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        hasColor = isTerminal && !isPlain && !isDumb
    }

    /// The text in a style where there are colours, the plain text elsewhere.
    public func styled(_ text: String, _ style: Style) -> String {
        hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes text at once. A failure is ignored: these are words for people, who may have gone.
    public func print(_ text: String, terminator: String = "\n") {
        var rest = Array((text + terminator).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Columns in a line; 80 where nobody knows.
    public var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

    /// Lines on the screen; 24 where nobody knows.
    public var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

    private var size: winsize? {
        var size = winsize()
        return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0 ? size : nil
    }
}

/// How a text looks, as the parameters of an SGR sequence (ECMA-48, section 8.3.117).
public enum Style: String, Sendable {
    case bold = "1"
    case faint = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case magenta = "35"
    case cyan = "36"
}
