/// One line that shows how far a transfer is. Says nothing where no terminal is, and nothing about short transfers.
public struct ProgressBar: Sendable {
    private let terminal: Terminal
    private let title: String
    private let total: Int64?
    private let start = ContinuousClock.now
    private let patience: Duration
    private let offset: Int64
    private var lastDrawn: ContinuousClock.Instant?

    /// A bar that has not been drawn yet.
    ///
    /// - Parameters:
    ///   - title: What is transferred.
    ///   - total: How many bytes there are, where that is known.
    ///   - offset: How many of them were there before, and do not count for the rate.
    ///   - patience: How long a transfer may take before a bar appears.
    public init(
        _ title: String, total: Int64?, offset: Int64 = 0, patience: Duration = .milliseconds(500),
        on terminal: Terminal = .error
    ) {
        self.title = title
        self.total = total
        self.offset = offset
        self.patience = patience
        self.terminal = terminal
    }

    /// Draws the bar, ten times a second at most.
    public mutating func update(_ bytes: Int64) {
        let now = ContinuousClock.now
        guard terminal.isTerminal, now - start >= patience else { return }
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        lastDrawn = now
        terminal.print("\r\u{1B}[K" + line(bytes, after: now - start), terminator: "")
    }

    /// Draws the bar a last time, and ends its line.
    public mutating func finish(_ bytes: Int64) {
        guard lastDrawn != nil else { return }
        terminal.print("\r\u{1B}[K" + line(bytes, after: .now - start))
        lastDrawn = nil
    }

    /// Takes the bar away.
    public mutating func clear() {
        guard lastDrawn != nil else { return }
        terminal.print("\r\u{1B}[K", terminator: "")
        lastDrawn = nil
    }

    /// The whole line: title, bar and share where the total is known, bytes, rate, time left.
    func line(_ bytes: Int64, after elapsed: Duration) -> String {
        let rate = elapsed.rate(of: bytes - offset)
        guard let total, total > 0 else { return "\(title) \(bytes.inBytes)  \(rate)  \(elapsed.forPeople)" }
        let share = min(1, Double(bytes) / Double(total))
        var tail = " \(Int(share * 100)) %  \(bytes.inBytes) of \(total.inBytes)  \(rate)"
        if bytes > offset, bytes < total {
            tail += "  \((elapsed * (Double(total - bytes) / Double(bytes - offset))).forPeople) left"
        }
        let width = max(8, min(32, terminal.columns - title.count - tail.count - 3))
        let filled = Int(share * Double(width))
        let bar = String(repeating: "━", count: filled)
        return "\(title) \(terminal.styled(bar, .green))"
            + terminal.styled(String(repeating: "─", count: width - filled), .faint) + tail
    }
}
