/// The last lines of a terminal, one for each of several transfers. Lines from ``say(_:)`` appear above them.
///
/// Nothing is printed if there is no terminal, except the lines of ``say(_:)``.
public actor ProgressBoard {
    /// A transfer in progress, with its line.
    private struct Entry {
        var line: ProgressLine
        let start = ContinuousClock.now
        var bytes: Int64
        var isVisible = false
    }

    private let terminal: Terminal
    private let patience: Duration
    private var entries: [Int: Entry] = [:]
    private var ended: Set<Int> = []
    private var drawnLines = 0
    private var lastDrawn: ContinuousClock.Instant?
    /// The task that redraws the board while transfers are in progress.
    private var ticker: Task<Void, Never>?

    /// Creates an empty board.
    ///
    /// - Parameter patience: The time for which a transfer may run before it gets a line.
    public init(patience: Duration = .milliseconds(500), on terminal: Terminal = .error) {
        self.patience = patience
        self.terminal = terminal
    }

    /// Updates the progress of a transfer. The board is drawn at most ten times per second.
    ///
    /// - Parameters:
    ///   - id: The number of the transfer, by which the lines are sorted.
    ///   - title: The name of the transfer.
    ///   - bytes: The number of bytes that have arrived.
    ///   - offset: The number of those bytes that existed before, which do not count for the rate.
    ///   - total: The size in bytes; `nil` if unknown.
    public func update(_ id: Int, _ title: String, bytes: Int64, after offset: Int64, of total: Int64?) {
        guard terminal.isTerminal, !ended.contains(id) else { return }
        let line = ProgressLine(title: title, total: total, offset: offset)
        entries[id, default: Entry(line: line, bytes: bytes)].line = line
        entries[id]?.bytes = bytes
        tick()
        let now = ContinuousClock.now
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        lastDrawn = now
        draw(now)
    }

    /// Ends a transfer. Its line, if there is one, stays above the others if the transfer is complete.
    ///
    /// - Parameter bytes: The final number of bytes; `nil` if the transfer is incomplete.
    public func end(_ id: Int, bytes: Int64?) {
        ended.insert(id)
        guard let entry = entries.removeValue(forKey: id), entry.isVisible else { return }
        guard let bytes else { return draw(.now) }
        say(entry.line.text(bytes, after: .now - entry.start, on: terminal))
    }

    /// Prints a line above the lines of the transfers.
    public func say(_ text: String) {
        clear()
        terminal.print(text)
        draw(.now)
    }

    /// Redraws the board at intervals while a transfer is in progress, so that a stalled transfer shows its current rate too.
    private func tick() {
        guard ticker == nil else { return }
        ticker = Task {
            while !entries.isEmpty, (try? await Task.sleep(for: .milliseconds(250))) != nil {
                if lastDrawn.map({ .now - $0 >= .milliseconds(200) }) ?? true { draw(.now) }
            }
            ticker = nil
        }
    }

    private func clear() {
        // Moves to the first line, and erases everything from there (ECMA-48: CPL and ED).
        if drawnLines > 1 { terminal.print("\u{1B}[\(drawnLines - 1)F", terminator: "") }
        if drawnLines > 0 { terminal.print("\r\u{1B}[J", terminator: "") }
        drawnLines = 0
    }

    private func draw(_ now: ContinuousClock.Instant) {
        for (id, entry) in entries where !entry.isVisible && now - entry.start >= patience {
            entries[id]?.isVisible = true
        }
        let visible = entries.filter(\.value.isVisible).sorted { $0.key < $1.key }.prefix(max(1, terminal.rows - 1))
        let lines = visible.map { $0.value.line.text($0.value.bytes, after: now - $0.value.start, on: terminal) }
        guard !lines.isEmpty || drawnLines > 0 else { return }
        // All lines are written at once, so that nothing flickers.
        var text = drawnLines > 1 ? "\u{1B}[\(drawnLines - 1)F" : "\r"
        text += lines.map { $0 + "\u{1B}[K" }.joined(separator: "\n")
        text += "\u{1B}[J"
        terminal.print(text, terminator: "")
        drawnLines = lines.count
    }
}
