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
    private func words() -> [String] { events.words.filter(Self.isOfFile) }

    /// Returns the same words of each call. The events of two calls are delivered independently of each other.
    private func wordsOfCalls() -> [[String]] {
        Dictionary(grouping: events.all, by: \.callID).values
            .map { $0.map(ConnectionEvents.word).filter(Self.isOfFile) }
    }

    private static func isOfFile(_ word: String) -> Bool {
        ["created", "continued", "moved", "finished", "failed"].contains { word.hasPrefix($0) }
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
        #expect(Set(events.all.map(\.callID)).count == 1)
    }

    @Test func theContinuationOfADownload() async throws {
        let server = try FileServer(content) { number, _ in number == 1 ? .cut(1 << 20) : .whole }
        let session = Session()
        _ = try await session.download(
            Request(server.url).withEventMonitor(events), to: .file(folder("a.bin")))
        #expect(folder.data("a.bin") == content)
        await session.shutdown()
        let calls = wordsOfCalls()
        #expect(calls.count == 2 && calls.contains(["created", "finished 200"]))
        #expect(calls.contains(["created", "finished 206", "continued \(1 << 20)", move]))
    }

    @Test func aDownloadInParts() async throws {
        let content = noise(8 << 20)
        // The first connection would sometimes have the whole file before there is a second one.
        let isDivided = LoopbackServer.Gate()
        let server = try FileServer(content) { number, _ in
            if number == 2 { isDivided.open() }
            return number == 1 ? .held(1 << 20, isDivided) : .whole
        }
        let session = Session()
        var options = DownloadOptions()
        options.connections = 3
        _ = try await session.download(
            Request(server.url).withEventMonitor(events), to: .file(folder("a.bin")), options: options)
        #expect(folder.data("a.bin") == content)
        await session.shutdown()
        let calls = wordsOfCalls()
        #expect(calls.count > 1 && calls.contains { $0.last == move })
        #expect(words().count { $0.hasPrefix("moved") } == 1)
    }

    @Test func aFileThatIsRefusedIsNotMoved() async throws {
        let server = try FileServer(content) { _, _ in .other(.text("no", status: 404)) }
        let session = Session()
        _ = try? await session.download(Request(server.url).withEventMonitor(events), to: .file(folder("a.bin")))
        await session.shutdown()
        #expect(words() == ["created", "finished 404"])
    }
}
