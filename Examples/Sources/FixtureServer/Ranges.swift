import FoundationEssentials
import Synchronization
import TrellisTesting

/// The routes of a file that is served in ranges: `/ranges/SIZE/FATE`.
///
/// The fate is `cut-N` (the first N responses for the path end half-way), `stuck` (every response ends half-way, and its
/// connection stays open) or `once-stuck` (only the first response for the path does so).
enum Ranges {
    /// The number of requests for each path.
    private static let counts = Mutex<[String: Int]>([:])

    static func answer(
        _ request: LoopbackServer.ReceivedRequest, size: Int, fate: String
    ) -> LoopbackServer.Response {
        let bytes = (0..<size).map { UInt8($0 * 7 % 251) }
        let number = counts.withLock { counts in
            counts[request.path, default: 0] += 1
            return counts[request.path] ?? 0
        }
        let ends =
            request["Range"].map { $0.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) } } ?? []
        let isPart = request["If-Range"] == "\"v1\"" && !ends.isEmpty && ends[0] < size
        let range = isPart ? ends[0]...min(ends.count > 1 ? ends[1] : size - 1, size - 1) : 0...(size - 1)
        let status =
            isPart ? "206 Part\r\nContent-Range: bytes \(range.lowerBound)-\(range.upperBound)/\(size)" : "200 OK"
        let head = "HTTP/1.1 \(status)\r\nETag: \"v1\"\r\nContent-Length: \(range.count)\r\nConnection: close\r\n\r\n"
        let isCut = fate.hasPrefix("cut-") && number <= Int(fate.dropFirst(4)) ?? 0
        let isStuck = fate == "stuck" || fate.hasPrefix("once-stuck") && number == 1
        let body = bytes[range].prefix(isCut || isStuck ? range.count / 2 : range.count)
        return LoopbackServer.Response(
            body: .raw { connection in
                try connection.write(Array(head.utf8) + body)
                if isStuck { connection.waitUntilPeerCloses() }
            })
    }
}
