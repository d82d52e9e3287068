import FoundationEssentials

/// The open file descriptors of the process.
enum Descriptors {
    /// The files, sockets and other objects that are open.
    static var targets: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    }

    /// The number of descriptors, without the runtime's timers: it opens one for each kind of clock when the first task waits for that, and
    /// keeps it.
    static var count: Int { targets.filter { !$0.contains("timerfd") }.count }

    /// The number of sockets.
    static var socketCount: Int { targets.count { $0.hasPrefix("socket:") } }
}
