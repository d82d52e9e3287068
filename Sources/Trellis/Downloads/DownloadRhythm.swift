import CurlEngine

/// When a download looks after its file: that it is there still, and that the note beside it tells what has come. A value.
struct DownloadRhythm: Sendable {
    /// So much time, in nanoseconds, may have to come again after a failure of the machine,
    private static let interval: Int64 = 1_000_000_000
    /// and so many bytes after the sudden end of a process, at the beginning.
    private static let bytes: Int64 = 8 << 20

    private var last: EngineInstant
    private var count: Int64

    init(now: EngineInstant, count: Int64 = 0) {
        last = now
        self.count = count
    }

    /// Whether it is time again; counts from now on, if so.
    mutating func isTime(_ now: EngineInstant) -> Bool {
        guard now.nanoseconds(since: last) >= Self.interval else { return false }
        last = now
        return true
    }

    /// Whether so many bytes have come again; counts from here on, if so.
    mutating func isMuch(_ count: Int64) -> Bool {
        guard count - self.count >= Self.bytes else { return false }
        self.count = count
        return true
    }
}
