/// The limit of the process's control groups on its processor time, as a container may have it (cgroups(7)).
package enum ProcessorLimit {
    /// The number of processors whose time the process may use; `nil` if there is no limit, or the system does not report it. Read once.
    package static let processors: Double? = contents(of: "/proc/self/cgroup").flatMap {
        processors(groups: $0, contents: contents(of:))
    }

    /// Returns the lowest limit of the groups of a process, and of all groups above them, of version 2 (`cpu.max`) and of version 1
    /// (`cpu.cfs_quota_us` in each `cpu.cfs_period_us`).
    ///
    /// - Parameters:
    ///   - groups: The lines of `/proc/self/cgroup`.
    ///   - contents: Returns the text of a file, if any.
    static func processors(groups: String, contents: (String) -> String?) -> Double? {
        var lowest: Double?
        for line in groups.split(atByte: "\n") {
            let parts = line.split(atByte: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let isVersion2 = parts[1].isEmpty
            guard isVersion2 || parts[1].split(atByte: ",").contains("cpu") else { continue }
            // In a container, the path may be that on the host, while the root is the container's own group.
            let root = isVersion2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu"
            var path = parts[2].hasSuffix("/") ? parts[2].dropLast() : parts[2]
            while true {
                let limit =
                    isVersion2
                    ? ratio(contents("\(root)\(path)/cpu.max"))
                    : ratio(
                        contents("\(root)\(path)/cpu.cfs_quota_us"), contents("\(root)\(path)/cpu.cfs_period_us"))
                if let limit { lowest = min(lowest ?? limit, limit) }
                guard let slash = path.lastIndex(of: "/") else { break }
                path = path[..<slash]
            }
        }
        return lowest
    }

    /// Returns the first number of some texts divided by the second one; `nil` if one of them is missing or not positive, as without a
    /// limit.
    private static func ratio(_ texts: String?...) -> Double? {
        let words = texts.flatMap { ($0 ?? "").utf8.split { $0 == 0x20 || $0 == 0x0A } }.map { String(Substring($0)) }
        guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), quota > 0, period > 0
        else { return nil }
        return quota / period
    }

    private static func contents(of path: String) -> String? {
        (try? FileContents.read(path: path)).map { String(decoding: $0, as: UTF8.self) }
    }
}
