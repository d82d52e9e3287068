import TerminalKit
import Trellis

/// An output of the body, as it arrives, after the head if that is asked for: byte for byte, but without control characters on a terminal.
/// A long transfer to a file or a pipe has a progress bar on the terminal.
struct PlainOutput: Output {
    private let sink: ByteSink
    private let showsProgress: Bool
    private let showsHead: Bool
    private var progress: ProgressBar?
    /// The text for a terminal; `nil` if the destination is none.
    private var text: TerminalText?
    private var count: Int64 = 0

    /// - Parameter showsHead: Whether the status and the header fields precede the body.
    init(to sink: ByteSink, showsProgress: Bool, showsHead: Bool) {
        self.sink = sink
        self.showsHead = showsHead
        self.showsProgress = showsProgress && !sink.isTerminal
        text = sink.isTerminal ? TerminalText() : nil
    }

    private mutating func write(_ bytes: Data) async throws {
        guard let shown = text?.shown(bytes) else { return try await sink.write(bytes) }
        try await sink.write(shown)
    }

    mutating func begin(_ head: Response, after earlier: String) async throws {
        if showsHead {
            var lines = ["HTTP/\(head.version) \(head.status)"]
            for field in head.headers { lines.append("\(field.name.rawName): \(field.value)") }
            try await write(Data((earlier + lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        }
        guard showsProgress else { return }
        // An encoded body has another length than the decoded body.
        let isEncoded = head.headers.contains(.contentEncoding)
        progress = ProgressBar("", total: isEncoded ? nil : head.headers[.contentLength].flatMap { Int64($0) })
    }

    mutating func end(after earlier: String) async throws {
        if showsHead { try await write(Data(earlier.utf8)) }
    }

    mutating func chunk(_ bytes: Data) async throws -> Bool {
        try await write(bytes)
        count += Int64(bytes.count)
        progress?.update(count)
        return true
    }

    mutating func item(_ item: StreamItem) async throws { try await write(Data((item.text + "\n").utf8)) }

    /// Ignores the beginning of the body, which is part of the failure's message.
    func refuse(_ beginning: Data) {}

    mutating func end(_ outcome: Outcome) {
        if outcome.failure == nil { progress?.finish(count) } else { progress?.clear() }
    }
}
