private import CCurl
private import Glibc

/// The time of the processors on which this process may run.
package enum ProcessorTime {
    /// Returns the time for which these processors have been idle since the machine's start, all of them together; `nil` if the system does
    /// not report it. A processor also counts as idle while it runs work of low priority (niceness), unless the calling thread has a low
    /// priority itself.
    ///
    /// Reads `/proc/stat`, whose times have a resolution of 10 ms.
    package static func idle() -> Duration? {
        let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
        guard ticksPerSecond > 0, let text = contents(),
            let ticks = idleTicks(
                in: text, countsNice: !ccurl_has_low_priority(), isAllowed: { ccurl_may_run_on(Int32(clamping: $0)) })
        else { return nil }
        return .nanoseconds(Int64(clamping: ticks) &* (1_000_000_000 / ticksPerSecond))
    }

    /// Returns the sum of the times `idle`, `iowait` and, if it counts, `nice` of the allowed processors (proc_stat(5)); `nil` if the text
    /// has none of these processors, or none that has ever had a time: a sandbox may report zeros.
    static func idleTicks(in text: [UInt8], countsNice: Bool, isAllowed: (Int) -> Bool) -> UInt64? {
        var (idle, total): (UInt64, UInt64) = (0, 0)
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            // The lines of the processors come first.
            guard let name = words.first, name.starts(with: "cpu".utf8) else { break }
            // The line with the sums of all processors has no number.
            guard let processor = number(name.dropFirst(3)), isAllowed(Int(clamping: processor)), words.count > 5 else {
                continue
            }
            let times = words.dropFirst().map { number($0) ?? 0 }
            idle &+= times[3] &+ times[4] &+ (countsNice ? times[1] : 0)
            total = times.reduce(total, &+)
        }
        return total > 0 ? idle : nil
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        UInt64(String(decoding: digits, as: UTF8.self))
    }

    /// The beginning of `/proc/stat`, with the lines of the processors.
    private static func contents() -> [UInt8]? {
        let descriptor = unsafe open("/proc/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}
