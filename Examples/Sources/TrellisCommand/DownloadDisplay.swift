import TerminalKit
import Trellis

/// How far a download is: a bar on a terminal, and elsewhere a line now and then.
struct DownloadDisplay {
    /// Between two lines.
    private static let pause = Duration.seconds(5)

    private let title: String
    private var bar: ProgressBar?
    private var total: Int64?
    private var last: TransferProgress?
    private var lastLine = Duration.zero

    init(_ path: String) { title = path.split(separator: "/").last.map(String.init) ?? path }

    mutating func show(_ progress: TransferProgress) {
        last = progress
        guard Terminal.error.isTerminal else {
            if progress.elapsed - lastLine >= Self.pause {
                lastLine = progress.elapsed
                Terminal.error.print("trellis: \(title): \(Self.words(progress))")
            }
            return
        }
        if bar == nil || total != progress.totalBytes {
            bar?.clear()
            total = progress.totalBytes
            bar = ProgressBar(title, total: total, offset: progress.completedBytes)
        }
        bar?.update(progress.completedBytes)
    }

    mutating func end(isWhole: Bool) {
        if isWhole, let last { bar?.finish(last.completedBytes) } else { bar?.clear() }
    }

    /// `12.0 MiB of 100.0 MiB, 3.1 MiB/s, 28.4 s left`
    private static func words(_ progress: TransferProgress) -> String {
        var words = [progress.completedBytes.inBytes + (progress.totalBytes.map { " of \($0.inBytes)" } ?? "")]
        if let rate = progress.bytesPerSecond { words.append("\(Int64(rate).inBytes)/s") }
        if let left = progress.estimatedTimeLeft { words.append("\(left.forPeople) left") }
        return words.joined(separator: ", ")
    }
}
