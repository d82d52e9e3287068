import TerminalKit
import Trellis

/// Where the time of a request went, in the order in which it passed.
struct Waterfall {
    /// The names of the parts and their durations.
    let parts: [(name: String, duration: Duration)]
    let total: Duration

    /// - Parameter start: The time from the call to the last request on the wire: that of its redirects and earlier attempts.
    init(_ metrics: Metrics, since start: Duration = .zero) {
        let connected = start + metrics.queued + metrics.nameLookup + metrics.connect + metrics.tls
        let firstByte = metrics.firstByte > .zero ? metrics.firstByte : metrics.total
        total = metrics.total
        parts = [
            ("before", start), ("queue", metrics.queued), ("name", metrics.nameLookup), ("connect", metrics.connect),
            ("TLS", metrics.tls),
            ("wait", max(.zero, firstByte - connected)), ("body", max(.zero, metrics.total - firstByte)),
        ]
    }

    /// The parts on one line: `23 ms: name 1 ms, connect 2 ms, wait 19 ms, body 1 ms`.
    var line: String {
        let shown = parts.filter { $0.duration >= .microseconds(50) }.map { "\($0.name) \($0.duration.forPeople)" }
        return total.forPeople + (shown.isEmpty ? "" : ": \(shown.joined(separator: ", "))")
    }

    /// The parts as bars below each other, for `--timing`.
    func lines(on terminal: Terminal) -> [String] {
        let width = max(10, min(60, terminal.columns - 22)), whole = max(total.inSeconds, 1e-9)
        var start = Duration.zero, lines: [String] = []
        for (name, duration) in parts where name != "before" || duration >= .milliseconds(1) {
            let from = min(width, Int(start.inSeconds / whole * Double(width)))
            let to = min(width, Int(((start + duration).inSeconds / whole * Double(width)).rounded(.up)))
            start += duration
            let bar = duration == .zero ? "" : String(repeating: "━", count: max(1, to - from))
            lines.append(
                Self.padded(name, 8) + String(repeating: " ", count: from) + terminal.styled(bar, .green)
                    + String(repeating: " ", count: max(0, width - from - bar.count)) + " \(duration.forPeople)")
        }
        return lines + [Self.padded("total", 8) + String(repeating: " ", count: width) + " \(total.forPeople)"]
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
