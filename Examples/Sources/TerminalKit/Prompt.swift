import Glibc
import Synchronization

/// A line that somebody types on a terminal while other lines arrive: those appear above it, and leave it as it is.
///
/// The terminal echoes nothing meanwhile. Backspace removes a character, Ctrl-W a word and Ctrl-U the line; Ctrl-D on an empty line is the
/// end.
public final class Prompt: Sendable {
    private struct State {
        var line = PromptLine()
        var isActive = true
    }

    private let state = Mutex(State())
    private let terminal: Terminal
    private let original: Mutex<termios>

    /// Takes over the terminal of standard input and standard output. Returns `nil` if one of them is no terminal.
    public init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, Terminal.output.isTerminal, tcgetattr(STDIN_FILENO, &settings) == 0 else {
            return nil
        }
        terminal = .output
        original = Mutex(settings)
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        draw(state.withLock { $0.line })
    }

    /// Prints a line above the one that is being typed.
    public func show(_ text: String) {
        state.withLock { state in
            terminal.print("\r\u{1B}[K" + terminal.styled("< ", .green) + text)
            if state.isActive { draw(state.line) }
        }
    }

    /// Takes what was typed. Returns the lines that are complete, and whether the end was typed.
    public func take(_ bytes: some Sequence<UInt8>) -> (lines: [[UInt8]], isEnd: Bool) {
        state.withLock { state in
            var lines: [[UInt8]] = []
            for byte in bytes {
                switch state.line.take(byte) {
                case .nothing: break
                case .line(let line):
                    draw(PromptLine(line))
                    terminal.print("")
                    lines.append(line)
                case .end: return (lines, true)
                }
            }
            draw(state.line)
            return (lines, false)
        }
    }

    /// Gives the terminal back, on a line of its own.
    public func end() {
        state.withLock { state in
            guard state.isActive else { return }
            state.isActive = false
            terminal.print("\r\u{1B}[K", terminator: "")
            original.withLock { _ = tcsetattr(STDIN_FILENO, TCSANOW, &$0) }
        }
    }

    private func draw(_ line: PromptLine) {
        let room = max(1, terminal.columns - 3)
        let text = TerminalText.shown(String(decoding: line.bytes, as: UTF8.self))
        terminal.print("\r\u{1B}[K" + terminal.styled("> ", .cyan) + text.suffix(room), terminator: "")
    }
}

/// The bytes of a line that is being typed.
public struct PromptLine: Sendable {
    /// What a byte leads to.
    public enum Step: Sendable, Hashable {
        case nothing
        case line([UInt8])
        case end
    }

    /// The bytes so far, without the bytes of an incomplete sequence of a key.
    public private(set) var bytes: [UInt8]
    /// Whether the bytes of a key follow, such as an arrow (ECMA-48, section 5.4).
    private var isInSequence = false

    /// Creates a line.
    public init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Takes a byte from the keyboard.
    public mutating func take(_ byte: UInt8) -> Step {
        if isInSequence {
            isInSequence = !(byte >= 0x40 && byte <= 0x7E && byte != UInt8(ascii: "[") && byte != UInt8(ascii: "O"))
            return .nothing
        }
        switch byte {
        case 0x0A, 0x0D:
            defer { bytes = [] }
            return .line(bytes)
        case 0x04 where bytes.isEmpty: return .end
        case 0x08, 0x7F: removeCharacter()
        case 0x15: bytes = []
        case 0x17:
            while bytes.last == 0x20 { bytes.removeLast() }
            while let last = bytes.last, last != 0x20 { bytes.removeLast() }
        case 0x1B: isInSequence = true
        case 0x09, 0x20...: bytes.append(byte)
        default: break
        }
        return .nothing
    }

    /// Removes the last character, of one byte or several.
    private mutating func removeCharacter() {
        while let last = bytes.popLast(), 0x80..<0xC0 ~= last {}
    }
}
