import TerminalKit
import Trellis

/// A download to a file goes on where it broke off, by hand: with a range request for what is missing.
struct InterruptedDownload: Part {
    let title = "A download that survives an interruption"

    func run(with guide: Guide, on server: TourServer) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "trellis-tour-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let start = ContinuousClock.now
        var tag: String?
        var (count, attempts) = (0, 0)
        while count < TourServer.fileSize {
            attempts += 1
            try expect(attempts <= 3, "no progress after \(attempts - 1) attempts")
            do {
                try await fetch(server.url("/file"), into: file, &count, &tag, guide)
            } catch let error as TrellisError where error.isRetryable {
                guide.say("the connection broke after \(count.inBytes) (\(error.kind.rawValue)); asking for the rest")
            }
        }
        let elapsed = ContinuousClock.now - start

        let bytes = try Data(contentsOf: file)
        let isWhole = bytes == server.file
        try expect(attempts == 2 && isWhole, "\(attempts) attempts, \(isWhole ? "whole" : "wrong bytes")")
        guide.say("\(bytes.count.inBytes) in \(attempts) attempts, \(elapsed.forPeople); every byte is right")
    }

    /// Appends what is missing, from `count` on.
    private func fetch(
        _ url: String, into path: URL, _ count: inout Int, _ tag: inout String?, _ guide: Guide
    ) async throws {
        var request = Request(url)
        // A part of the coded body would be a part of something else.
        request.decodesContent = false
        if count > 0 {
            request.headerFields[.range] = "bytes=\(count)-"
            // The rest of the same file, or all of another one (RFC 9110, section 13.1.5).
            request.headerFields[.ifRange] = tag
        }
        let response = try await guide.session.stream(request)
        try expect(response.head.status.code == (count > 0 ? 206 : 200), "status \(response.head.status)")
        tag = response.head.headerFields[.eTag]

        var bar = guide.progressBar("GET /file", total: Int64(TourServer.fileSize), from: Int64(count))
        defer { bar.finish(Int64(count)) }
        let file = try AppendedFile(path.path)
        for try await chunk in response.chunks {
            try file.append(chunk)
            count += chunk.count
            bar.update(Int64(count))
        }
    }
}
