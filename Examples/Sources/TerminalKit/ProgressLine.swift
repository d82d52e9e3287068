/// The text of a line about a transfer: title, bar and share if the total is known, bytes, rate, and time left.
struct ProgressLine: Sendable {
    let title: String
    let total: Int64?
    /// The number of bytes that existed before, which do not count for the rate.
    let offset: Int64

    /// Returns the text, on one line of the terminal.
    func text(_ bytes: Int64, after elapsed: Duration, on terminal: Terminal) -> String {
        let columns = terminal.columns
        let title = shortTitle(columns / 3)
        let rate = elapsed.rate(of: bytes - offset)
        guard let total, total > 0 else {
            return title + String("\(bytes.inBytes)  \(rate)  \(elapsed.forPeople)".prefix(room(columns, title)))
        }
        let share = min(1, Double(bytes) / Double(total))
        var tail = " \(Int(share * 100)) %  \(bytes.inBytes) of \(total.inBytes)  \(rate)"
        if bytes > offset, bytes < total {
            // The server states the total, which can be arbitrarily large, so the estimate is limited to a century.
            let left = min(elapsed.inSeconds * (Double(total - bytes) / Double(bytes - offset)), 3_153_600_000)
            tail += "  \(Duration.seconds(left).forPeople) left"
        }
        let barRoom = room(columns, title) - tail.count
        // A bar of fewer than four columns is omitted.
        guard barRoom >= 4 else { return title + String(tail.prefix(room(columns, title))) }
        let width = min(32, barRoom)
        let filled = Int(share * Double(width))
        return title + terminal.styled(String(repeating: "━", count: filled), .green)
            + terminal.styled(String(repeating: "─", count: width - filled), .faint) + tail
    }

    /// Returns the number of columns after a title, which may be wider than the terminal.
    private func room(_ columns: Int, _ title: String) -> Int { max(0, columns - title.count - 1) }

    /// Returns the title, shortened to its end, which is more informative than its beginning.
    private func shortTitle(_ limit: Int) -> String {
        if title.isEmpty { return "" }
        return (title.count <= max(limit, 8) ? title : "…" + title.suffix(max(limit, 8) - 1)) + " "
    }
}
