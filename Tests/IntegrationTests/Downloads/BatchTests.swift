import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// A batch runs several downloads at a time.
@Suite(.timeLimit(.minutes(3)))
struct BatchTests {
    private let folder: Folder
    private let session = Session()

    init() throws { folder = try Folder() }

    /// The other downloads continue when some fail. The file of one download in seven is missing.
    @Test func theOthersGoOnWhenSomeFail() async throws {
        let counts = Locked((now: 0, most: 0))
        let server = try LoopbackServer.http { request in
            counts.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            defer { counts.withLock { $0.now -= 1 } }
            let number = Int(request.path.dropFirst(2)) ?? 0
            return number.isMultiple(of: 7) ? .init(404) : .init(body: noise(1000 + number, seed: UInt64(number)))
        }
        var outcomes: [Int: Bool] = [:]
        let urls = (0..<100).map { server.url("/f\($0)") }
        for await outcome in session.downloads(of: urls, to: .directory(folder.path), maximumConcurrency: 5) {
            #expect(outcomes[outcome.index] == nil)
            let file = try? outcome.result.get()
            outcomes[outcome.index] = file != nil
            if let file { #expect(file.path == folder("f\(outcome.index)") && file.size == 1000 + outcome.index) }
        }
        #expect(outcomes.count == 100)
        #expect(outcomes.filter { !$0.value }.keys.sorted() == Array(stride(from: 0, to: 100, by: 7)))
        #expect(counts.withLock { $0.most } <= 5)
        #expect(folder.names.count == 85)
        for number in 1..<7 { #expect(folder.data("f\(number)") == noise(1000 + number, seed: UInt64(number))) }
    }

    @Test func leavingTheLoopEndsTheRest() async throws {
        let gate = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            let request = try connection.readRequest()
            if request.path != "/first" { try connection.wait(for: gate) }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let names = ["first"] + (1..<20).map { "\($0)" }
        let downloads = names.map { session.downloadRequest(server.url("/\($0)"), to: .file(folder($0))) }
        for await outcome in session.downloads(of: downloads, maximumConcurrency: 4) {
            #expect(outcome.index == 0)
            break
        }
        try await server.waitUntilAllClosed()
        #expect(downloads[19].state == .cancelled)
        // A partial file is removed with the work, after its connection has closed.
        for download in downloads.dropFirst() { await #expect(throws: (any Error).self) { try await download.value } }
        #expect(folder.names == ["first"])
    }

    @Test func cancellingTheTaskEndsAll() async throws {
        let gate = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.wait(for: gate)
        }
        let task = Task { [session, folder] in
            var count = 0
            let urls = (0..<10).map { server.url("/\($0)") }
            for await _ in session.downloads(of: urls, to: .directory(folder.path), maximumConcurrency: 3) {
                count += 1
            }
            return count
        }
        try await server.waitUntilRequested(count: 3)
        task.cancel()
        #expect(await task.value == 0)
        try await server.waitUntilAllClosed()
        #expect(server.acceptedCount == 3)
    }

    @Test func ofNothing() async {
        for await _ in session.downloads(of: [String](), to: .directory(folder.path)) { Issue.record("an outcome") }
    }
}
