import CurlEngine

/// A wait for the network, which checks for a default route at intervals: on Linux the default route exists as long as the
/// network is available.
struct NetworkWait: Sendable {
    /// The longest time to wait.
    let limit: Duration
    /// The time from one check to the next.
    var interval = Duration.milliseconds(100)
    var isThere: @Sendable () -> Bool = { DefaultRoute.isThere() }
    var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Returns whether the network was away and is back: `false` at once if the network is available, and at the limit, or in a
    /// cancelled task, if it is not.
    func untilThereIsOneAgain() async -> Bool {
        guard !isThere() else { return false }
        var waited = Duration.zero
        while waited < limit {
            let next = min(interval, limit - waited)
            guard (try? await pause(next)) != nil else { return false }
            waited += next
            if isThere() { return true }
        }
        return false
    }
}

/// The default route: a way to hosts that are not on a network of the machine's own, as the kernel's tables have it.
enum DefaultRoute {
    /// Returns whether the tables have a default route. If the tables cannot be read, a default route is assumed.
    static func isThere() -> Bool {
        let (four, six) = (text(ofFileAt: "/proc/net/route"), text(ofFileAt: "/proc/net/ipv6_route"))
        guard four != nil || six != nil else { return true }
        return isInIPv4Table(four ?? "") || isInIPv6Table(six ?? "")
    }

    /// Returns whether the IPv4 table has a default route. The columns are `Iface Destination Gateway Flags …`, numbers in
    /// hexadecimal digits; the first line is a heading.
    static func isInIPv4Table(_ table: String) -> Bool {
        table.split(separator: "\n").contains { line in
            let columns = line.split { $0 == " " || $0 == "\t" }
            return columns.count > 3 && columns[0] != "lo" && columns[1] == "00000000" && isUsable(columns[3])
        }
    }

    /// Returns whether the IPv6 table has a default route. The columns are destination, its prefix's length, source, its prefix's
    /// length, next hop, metric, references, use, flags and interface.
    static func isInIPv6Table(_ table: String) -> Bool {
        table.split(separator: "\n").contains { line in
            let columns = line.split { $0 == " " || $0 == "\t" }
            return columns.count > 9 && columns[9] != "lo" && columns[1] == "00"
                && columns[0].allSatisfy { $0 == "0" } && isUsable(columns[8])
        }
    }

    /// Returns whether a route is up (`RTF_UP`), and does not reject traffic (`RTF_REJECT`).
    private static func isUsable(_ flags: Substring) -> Bool {
        UInt32(flags, radix: 16).map { $0 & 0x201 == 0x001 } ?? false
    }

    private static func text(ofFileAt path: String) -> String? {
        // A file of the kernel's has no size. Text beyond the limit is not read: a machine with so many routes has a network.
        let limit: Int64 = 1 << 20
        guard let reader = try? FileReader(path: path, length: limit) else { return nil }
        var bytes: [UInt8] = []
        while bytes.count < limit, let chunk = try? reader.read(atMost: 16 << 10, at: Int64(bytes.count)) {
            bytes += chunk
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
