import TerminalKit
import Trellis

/// The part about downloads: the server interrupts the response in the middle, and the download continues from there.
struct InterruptedDownload: Part {
    let title = "A download that survives an interruption"

    func run(with guide: Guide, on server: TourServer) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "trellis-tour-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }

        let start = ContinuousClock.now
        let download = guide.session.downloadRequest(server.url("/file"), to: .file(path))
        var bar = guide.progressBar("GET /file", total: Int64(TourServer.fileSize))
        for await progress in download.progress { bar.update(progress.completedBytes) }
        let file = try await download.value
        bar.finish(file.size)
        let elapsed = ContinuousClock.now - start

        let isWhole = try Data(contentsOf: URL(filePath: path)) == server.file
        try expect(
            file.interruptions == 1 && isWhole,
            "\(file.interruptions) interruptions, \(isWhole ? "whole" : "wrong bytes")")
        guide.say("the connection broke in the middle; only the rest was asked for")
        guide.say("\(file.size.inBytes) in \(elapsed.forPeople); every byte is right")
    }
}
