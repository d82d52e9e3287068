extension Metrics: CustomStringConvertible {
    /// The metrics for people, with times in milliseconds. Names, connecting and TLS are left out on a connection that was used before.
    ///
    /// ```
    /// attempt 1, 12 ms (queued 0, name 1, connect 1, TLS 4, first byte 6), 120 B sent, 4.2 KB received, HTTP/2, 127.0.0.1:443
    /// ```
    public var description: String {
        var parts: [String] = []
        if attemptCount > 0 { parts.append("attempt \(attemptCount)") }
        parts.append("\(Self.milliseconds(totalTime)) ms (\(phases))")
        parts.append("\(Self.size(bytesSent)) sent")
        parts.append("\(Self.size(bytesReceived)) received")
        if let version { parts.append("HTTP/\(version)") }
        if let peerAddress { parts.append(peerAddress) }
        if let proxyURL { parts.append("through the proxy \(proxyURL)") }
        if let cacheStatus { parts.append("cache: \(cacheStatus)") }
        return parts.joined(separator: ", ")
    }

    /// The phases with their times in milliseconds.
    private var phases: String {
        var phases = [("queued", queuedTime)]
        if !isReusedConnection { phases += [("name", nameLookupTime), ("connect", connectTime), ("TLS", tlsTime)] }
        phases.append(("first byte", firstByteTime))
        let words = phases.map { "\($0.0) \(Self.milliseconds($0.1))" }.joined(separator: ", ")
        return isReusedConnection ? "\(words), connection reused" : words
    }

    /// Returns a time in whole milliseconds, rounded.
    private static func milliseconds(_ nanoseconds: Int64) -> Int64 {
        nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 >= 500_000 ? 1 : 0)
    }

    /// Returns a number of bytes in words: in bytes below 1000, else with one decimal in the largest unit that gives at least 1.
    private static func size(_ bytes: Int64) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var (unit, names) = (1000 as Int64, ["KB", "MB", "GB", "TB"][...])
        while names.count > 1, bytes / unit >= 1000 {
            unit *= 1000
            names.removeFirst()
        }
        return "\(bytes / unit).\(bytes % unit * 10 / unit) \(names.first ?? "KB")"
    }
}
