import Glibc

/// The end of a question for a password.
public enum Password: Sendable, Hashable {
    /// A password, which may be empty.
    case typed(String)
    /// Ctrl-C.
    case interrupted
    /// Nobody can be asked, or the terminal has ended.
    case none

    /// Asks on the terminal of the process, which echoes nothing meanwhile, and waits for the end of the line.
    ///
    /// `getpass` takes Ctrl-C for a character of the password.
    public static func ask(_ question: String) -> Password {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return .none }
        defer { close(terminal) }
        var original = termios()
        guard tcgetattr(terminal, &original) == 0 else { return .none }
        var settings = original
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &settings) == 0 else { return .none }
        defer { tcsetattr(terminal, TCSAFLUSH, &original) }
        show(question, on: terminal)
        defer { show("\n", on: terminal) }
        var line = PromptLine()
        while true {
            var byte: UInt8 = 0
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return .none }
            if byte == 0x03 { return .interrupted }
            switch line.take(byte) {
            case .nothing: break
            case .line(let bytes): return .typed(String(decoding: bytes, as: UTF8.self))
            case .end: return .none
            }
        }
    }

    private static func show(_ text: String, on terminal: CInt) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }
}
