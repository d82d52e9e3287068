import TerminalKit
import Trellis

/// The display of a download's progress: a line of a board on a terminal, and otherwise a printed line at intervals.
struct DownloadDisplay {
    /// The time between two printed lines.
    private static let pause = Duration.seconds(5)

    private let index: Int
    private let title: String
    private let board: ProgressBoard

    init(_ index: Int, _ title: String, on board: ProgressBoard) {
        self.index = index
        self.title = title
        self.board = board
    }

    /// Shows the progress until the sequence ends.
    func show(_ sequence: some AsyncSequence<TransferProgress, Never>) async {
        var lastLine = Duration.zero
        for await progress in sequence {
            if Terminal.error.isTerminal {
                await board.update(
                    index, title, bytes: progress.completedBytes,
                    after: progress.completedBytes - progress.transferredBytes, of: progress.totalBytes)
            } else if progress.elapsed - lastLine >= Self.pause {
                lastLine = progress.elapsed
                await board.say("trellis: \(title): \(Self.words(progress))")
            }
        }
    }

    /// Returns the text of a printed line: `12.0 MiB of 100.0 MiB, 3.1 MiB/s, 28.4 s left`.
    private static func words(_ progress: TransferProgress) -> String {
        var words = [progress.completedBytes.inBytes + (progress.totalBytes.map { " of \($0.inBytes)" } ?? "")]
        if let rate = progress.bytesPerSecond { words.append("\(Int64(rate).inBytes)/s") }
        if let left = progress.estimatedTimeLeft { words.append("\(left.forPeople) left") }
        return words.joined(separator: ", ")
    }
}
