import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The events of downloads: the calls that they consist of, and their files.
@Suite(.timeLimit(.minutes(3)))
struct DownloadEventTests {
    private let events = ConnectionEvents()
    private let folder: Folder
    private let content = noise(3 << 20)

    init() throws { folder = try Folder() }

    /// Returns the words of the file and of the ends of calls.
    private func words() -> [String] {
        events.words.filter { word in
            ["created", "continued", "moved", "finished", "failed"].contains { word.hasPrefix($0) }
        }
    }

    private var move: String { "moved \(folder(".a.bin.trellis-part")) \(folder("a.bin"))" }

    @Test(arguments: [true, false])
    func theMoveOfTheFile(_ isOfRequest: Bool) async throws {
        let server = try FileServer(content)
        var configuration = SessionConfiguration()
        if !isOfRequest { configuration.eventMonitors = [events] }
        let session = Session(configuration: configuration)
        let request = Request(server.url)
        let file = try await session.download(
            isOfRequest ? request.withEventMonitor(events) : request, to: .file(folder("a.bin")))
        #expect(file.size == content.count)
        await session.shutdown()
        #expect(words() == ["created", "finished 200", move])
        #expect(events.words.last == move && Set(events.all.map(\.callID)).count == 1)
    }

    @Test func theContinuationOfADownload() async throws {
        let server = try FileServer(content) { number, _ in number == 1 ? .cut(1 << 20) : .whole }
        let session = Session()
        _ = try await session.download(
            Request(server.url).withEventMonitor(events), to: .file(folder("a.bin")))
        #expect(folder.data("a.bin") == content)
        await session.shutdown()
        // The events of two calls are delivered independently of each other.
        #expect(
            words().filter { $0 != "finished 200" } == [
                "created", "created", "finished 206", "continued \(1 << 20)", move,
            ])
        #expect(words().contains("finished 200"))
        let calls = events.all.map(\.callID)
        #expect(Set(calls).count == 2)
    }

    @Test func aDownloadInParts() async throws {
        let content = noise(8 << 20)
        let server = try FileServer(content)
        let session = Session()
        var options = DownloadOptions()
        options.connections = 3
        _ = try await session.download(
            Request(server.url).withEventMonitor(events), to: .file(folder("a.bin")), options: options)
        #expect(folder.data("a.bin") == content)
        await session.shutdown()
        #expect(words().last == move && words().count { $0.hasPrefix("moved") } == 1)
        #expect(Set(events.all.map(\.callID)).count > 1)
    }

    @Test func aFileThatIsRefusedIsNotMoved() async throws {
        let server = try FileServer(content) { _, _ in .other(.text("no", status: 404)) }
        let session = Session()
        _ = try? await session.download(Request(server.url).withEventMonitor(events), to: .file(folder("a.bin")))
        await session.shutdown()
        #expect(words() == ["created", "finished 404"])
    }
}
