import TerminalKit
import Trellis

/// An output of only the body, as it arrives. A long transfer to a file or a pipe has a progress bar on the terminal.
struct PlainOutput: Output {
    private let sink: ByteSink
    private let showsProgress: Bool
    private var progress: ProgressBar?
    private var count: Int64 = 0

    init(to sink: ByteSink, showsProgress: Bool) {
        self.sink = sink
        self.showsProgress = showsProgress && !sink.isTerminal
    }

    mutating func begin(_ head: Response) {
        guard showsProgress else { return }
        // The length of an encoded body differs from that of the decoded body.
        let isEncoded = head.headers.contains(.contentEncoding)
        progress = ProgressBar("", total: isEncoded ? nil : head.headers[.contentLength].flatMap { Int64($0) })
    }

    mutating func chunk(_ bytes: Data) async throws -> Bool {
        try await sink.write(bytes)
        count += Int64(bytes.count)
        progress?.update(count)
        return true
    }

    mutating func item(_ item: StreamItem) async throws { try await sink.write(Array((item.text + "\n").utf8)) }

    /// Ignores the beginning of the body, which is part of the failure's message.
    func refuse(_ beginning: Data) {}

    mutating func end(_ outcome: Outcome) {
        if outcome.failure == nil { progress?.finish(count) } else { progress?.clear() }
    }
}
