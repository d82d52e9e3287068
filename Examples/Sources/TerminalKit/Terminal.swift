import Glibc

/// A standard descriptor, which may or may not be a terminal.
public struct Terminal: Sendable {
    /// Whether the descriptor is a terminal, on which a person reads the text as it is written.
    public let isTerminal: Bool
    /// Whether text can have colours: on a terminal, unless `NO_COLOR` is set or the terminal does not support them.
    public let hasColor: Bool
    private let descriptor: CInt

    /// The descriptor for responses: standard output.
    public static let output = Terminal(STDOUT_FILENO)
    /// The descriptor for messages and progress: standard error.
    public static let error = Terminal(STDERR_FILENO)

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        let isPlain = getenv("NO_COLOR").map { $0[0] != 0 } ?? false
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        hasColor = isTerminal && !isPlain && !isDumb
    }

    /// Returns the text in a style if there are colours, and otherwise the plain text.
    public func styled(_ text: String, _ style: Style) -> String {
        hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes text at once. A failure is ignored, because the text is only a message, and its reader may have closed the descriptor.
    public func print(_ text: String, terminator: String = "\n") {
        var rest = Array((text + terminator).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// The number of columns in a line; 80 if unknown.
    public var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

    /// The number of lines on the screen; 24 if unknown.
    public var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

    private var size: winsize? {
        var size = winsize()
        return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0 ? size : nil
    }
}

/// A style of text, as the parameter of an SGR sequence (ECMA-48, section 8.3.117). Blue is missing, which is hard to read on black, and so
/// is yellow, which is hard to read on white.
public enum Style: String, Sendable {
    /// Bold text.
    case bold = "1"
    /// Faint text.
    case faint = "2"
    /// Red text.
    case red = "31"
    /// Green text.
    case green = "32"
    /// Magenta text.
    case magenta = "35"
    /// Cyan text.
    case cyan = "36"
}
