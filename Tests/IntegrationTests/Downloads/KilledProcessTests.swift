import Foundation
import Glibc
import Testing
import Trellis
import TrellisTesting

/// Downloads survive processes that are really killed, and several processes at one place.
@Suite(.timeLimit(.minutes(3)))
struct KilledProcessTests {
    private static let content = noise(16 << 20, seed: 3)
    private let folder: Folder
    private let gate = LoopbackServer.Gate()

    init() throws { folder = try Folder() }

    /// The part of a note that tells which bytes are there.
    private struct Note: Decodable {
        let done: [[Int64]]
        let written: [[Int64]]?

        /// The number of bytes that the note at a path lists, which is written as a whole.
        static func count(at path: String) -> Int64 {
            let data = FileManager.default.contents(atPath: path)
            let note = data.flatMap { try? JSONDecoder().decode(Note.self, from: $0) }
            return (note.map { $0.done + ($0.written ?? []) } ?? []).reduce(0) { $0 + $1[1] - $1[0] }
        }
    }

    /// Runs a process that downloads, and is killed when `count` bytes have arrived, and the note lists `noted` of them.
    private func kill(at count: Int64, noted: Int64 = 0, _ url: String, connections: Int = 1) async {
        let path: String = folder("a.bin"), note: String = folder(".a.bin.trellis-note")
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, note = note as String, url, count, noted, connections] in
            var options = DownloadOptions()
            options.connections = connections
            let download = Session().downloadRequest(url, to: .file(path, .removePreviousFile), options: options)
            for await progress in download.progress where progress.completedBytes >= count { break }
            while !Task.isCancelled, Note.count(at: note) < noted { await Task.yield() }
            raise(SIGKILL)
        }
    }

    /// The names of the files without that of a note which is being written, or was when its process was killed.
    private var namesLeft: [String] { folder.names.filter { $0 != ".a.bin.trellis-note.new" } }

    private func isWhole() -> Bool { folder.data("a.bin") == Self.content && folder.names == ["a.bin"] }

    @Test(arguments: [1, 4]) func anotherProcessGoesOn(_ connections: Int) async throws {
        let isDivided = LoopbackServer.Gate()
        // Notes are written as bytes arrive. No part is whole before the others have begun: its connection would go on with theirs.
        let server = try FileServer(Self.content) { number, _ in
            if number == connections { isDivided.open() }
            return number <= connections ? .begun(isDivided, .crawling((12 << 20) / connections)) : .whole
        }
        let noted: Int64 = connections == 1 ? 0 : 4 << 20
        await kill(at: 12 << 20, noted: noted, server.url, connections: connections)
        #expect(namesLeft == [".a.bin.trellis-note", ".a.bin.trellis-part"])
        var options = DownloadOptions()
        options.connections = connections
        let file = try await Session().downloadRequest(server.url, to: .file(folder("a.bin")), options: options).value
        #expect(file.resumedBytes >= (connections == 1 ? 12 << 20 : noted) && isWhole())
    }

    /// Many processes, each killed at another place, complete a download.
    @Test func manyProcessesComeToAnEnd() async throws {
        let server = try FileServer(Self.content) { [gate] number, _ in
            number <= 4 ? .stalled(3 << 20, gate) : .whole
        }
        for round in 1...4 { await kill(at: Int64(round) * (3 << 20), server.url) }
        let file = try await Session().downloadRequest(server.url, to: .file(folder("a.bin"))).value
        #expect(file.resumedBytes == 12 << 20 && isWhole())
        gate.open()
    }

    /// A second process at the same place has its own partial file, which is removed by a later download after the process has ended.
    @Test func twoProcessesAtOnePlace() async throws {
        let server = try FileServer(Self.content) { [gate] number, _ in
            number <= 2 ? .stalled(2 << 20, gate) : .whole
        }
        let first = Session().downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile))
        for await progress in first.progress where progress.completedBytes == 2 << 20 { break }
        await kill(at: 2 << 20, server.url)
        let left = [".a.bin.trellis-note", ".a.bin.trellis-part", ".a.bin.trellis-part.2"]
        #expect(namesLeft == left)
        _ = await first.cancelProducingResumeData()
        gate.open()
        let file = try await Session().downloadRequest(server.url, to: .file(folder("a.bin"))).value
        #expect(file.resumedBytes == 2 << 20 && isWhole())
    }
}
