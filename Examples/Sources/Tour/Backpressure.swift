import Glibc
import TerminalKit
import Trellis
import TrellisTesting

/// The part about backpressure: while the reader of a stream pauses, the server has to wait, and memory stays bounded.
struct Backpressure: Part {
    let title = "A byte stream with backpressure"

    func run(with guide: Guide, on server: TourServer) async throws {
        let (sentBefore, memoryBefore) = (server.loopback.bytesWritten, try residentMemory())
        let response = try await guide.session.stream(server.url("/firehose"))
        var (received, chunks) = (0, 0)
        var start = ContinuousClock.now
        for try await chunk in response.chunks {
            received += chunk.count
            chunks += 1
            guard chunks == 1 else { continue }
            try await rest(guide, server, sentBefore)
            start = .now
        }
        let elapsed = ContinuousClock.now - start
        try expect(received == TourServer.streamSize, "\(received) bytes came")
        let growth = max(0, try residentMemory() - memoryBefore)
        try expect(growth < 32 << 20, "memory grew by \(growth.inBytes)")
        guide.say("then \(received.inBytes) in \(chunks) chunks at \(elapsed.rate(of: received))")
        guide.say("memory of server and client together grew by \(growth.inBytes)")
    }

    /// Pauses the reader, and checks that the server stops sending when the buffers between them are full.
    private func rest(_ guide: Guide, _ server: TourServer, _ sentBefore: Int) async throws {
        // On a slow machine, the server takes longer to fill what is between the two ends.
        var full = 0
        repeat {
            full = server.loopback.bytesWritten - sentBefore
            try await Task.sleep(for: .milliseconds(400))
        } while server.loopback.bytesWritten - sentBefore > full
        try expect(full < TourServer.streamSize / 2, "the server could send \(full.inBytes)")
        let size = TourServer.streamSize.inBytes
        guide.say("the reader rests: of \(size) the server got rid of \(full.inBytes), and is held up")
    }

    /// Returns the resident memory of this process, which includes the server, in bytes.
    private func residentMemory() throws -> Int {
        let text = try String(decoding: Data(contentsOf: URL(filePath: "/proc/self/statm")), as: UTF8.self)
        guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw NotAsExpected(description: "/proc/self/statm reads \(text)")
        }
        return pages * Int(getpagesize())
    }
}
