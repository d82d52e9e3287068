import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A download reports its attempts, its redirects and its bytes.
@Suite(.timeLimit(.minutes(3)))
struct DownloadReportTests {
    private static let content = noise(2_000_000)
    private let folder: Folder
    private let session = Session()

    init() throws { folder = try Folder() }

    private func download(
        _ url: String, _ options: DownloadOptions = DownloadOptions(), in session: Session? = nil
    ) -> DownloadRequest {
        (session ?? self.session).downloadRequest(url, to: .file(folder("a.bin")), options: options)
    }

    /// Returns a server that redirects to another one.
    private func gateway(to url: String) throws -> LoopbackServer {
        try .http { _ in .init(302, headers: [("Location", url)]) }
    }

    /// Returns whether the metrics count the bytes of the file, and of only a few heads.
    private func isAbout(_ count: Int64, _ metrics: Metrics) -> Bool {
        (count..<count + 10_000).contains(metrics.bytesReceived)
    }

    @Test func anInterruptedDownload() async throws {
        let server = try FileServer(Self.content) { number, _ in number <= 2 ? .cut(500_000) : .whole }
        let gateway = try gateway(to: server.url)
        let file = try await download(gateway.url("/a")).value
        #expect(file.interruptions == 2 && file.attemptCount == 3 && file.metrics.attemptCount == 3)
        #expect(file.redirects.map(\.from) == [gateway.url("/a")] && file.redirects.map(\.to) == [server.url])
        #expect(isAbout(2_000_000, file.metrics))
        #expect(file.metrics.total >= file.metrics.firstByte && file.metrics.firstByte > .zero)
        #expect(file.response.metrics.attemptCount == 1 && isAbout(1_000_000, file.response.metrics))
    }

    @Test func aDownloadInParts() async throws {
        let content = noise(16 << 20, seed: 3)
        // The first connection would sometimes have the whole file before the second one goes on.
        let isResumed = LoopbackServer.Gate()
        let server = try FileServer(content) { number, _ in
            if number == 3 { isResumed.open() }
            return number == 1 ? .held(1 << 20, isResumed) : number == 2 ? .cut(100_000) : .whole
        }
        var options = DownloadOptions()
        options.connections = 2
        let file = try await download(server.url, options).value
        #expect(file.attemptCount == server.server.requests.count && file.interruptions == 1)
        #expect(file.metrics.bytesReceived >= 16 << 20 && file.response.status == .partialContent)
    }

    @Test(arguments: [1, 4])
    func aDownloadThatFails(_ connections: Int) async throws {
        let content = noise(16 << 20, seed: 3)
        let server = try FileServer(content) { number, _ in
            number <= 6 ? .cut(500_000) : .other(.init(410))
        }
        let gateway = try gateway(to: server.url)
        var options = DownloadOptions()
        options.connections = connections
        options.maximumFailures = 1
        // The connections wait before they go on.
        let session = Session(leaping: LeapingClock())
        let error = await fails(.unacceptableStatus) {
            try await download(gateway.url("/a"), options, in: session).value
        }
        #expect(error?.attemptCount == server.server.requests.count)
        #expect(connections > 1 || error?.attemptCount == 7 && error?.interruptions == 6)
        #expect(error?.interruptions ?? 0 >= 3)
        #expect(error?.redirects.map(\.to) == [server.url])
        #expect(error?.metrics.bytesReceived ?? 0 > 2_000_000)
    }

    /// A file that already exists at the destination is reported with the attempts before it, although it is not a failure of the network.
    @Test func aFileThatIsInTheWay() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(500_000) : .whole }
        let gateway = try gateway(to: server.url)
        let request = download(gateway.url("/a")).validate { [folder] _, _, _ in
            folder.write(Data("new".utf8), to: "a.bin")
        }
        let error = await fails(.file) { try await request.value }
        #expect(error?.attemptCount == 2 && error?.interruptions == 1 && error?.redirects.count == 1)
        #expect(error?.url == gateway.url("/a") && error?.method == .get && error?.mayHaveSentBytes == true)
        #expect(error.map { isAbout(2_000_000, $0.metrics) } == true)
    }

    @Test func aCancelledDownload() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { _, _ in .stalled(700_000, gate) }
        let request = download(server.url)
        for await progress in request.progress where progress.completedBytes == 700_000 { break }
        request.cancel()
        let error = await fails(.cancelled) { try await request.value }
        #expect(error?.attemptCount == 1 && error?.url == server.url && error?.interruptions == 0)
        #expect(error.map { isAbout(700_000, $0.metrics) } == true)
        gate.open()
    }

    @Test func nothingThatWasAsked() async throws {
        let error = await fails(.file) { try await session.downloadRequest("http://a.example/", to: .file("")).value }
        #expect(error?.attemptCount == 0 && error?.phase == .composing && error?.url == "http://a.example/")
    }

    // MARK: Files that exist already

    /// A file that already exists is confirmed by a response about the file, not by one about a range that the file does not have.
    @Test func aFileThatIsThere() async throws {
        let server = try FileServer(Self.content)
        let first = download(server.url).validate { [folder] _, _, _ in
            folder.write(Data("new".utf8), to: "a.bin")
        }
        await fails(.file) { try await first.value }
        let request = session.downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile))
        let file = try await request.value
        #expect(server.ranges == [nil, "bytes=1999999-"])
        #expect(file.response.status == .partialContent && file.size == 2_000_000 && file.resumedBytes == 2_000_000)
        #expect(try await request.response.status == .partialContent)
        #expect(request.currentProgress.fraction == 1 && folder.data("a.bin") == Self.content)
    }

    /// A file of unknown length that already exists is confirmed in the same way, once its length is known.
    @Test func aFileOfUnknownLengthThatIsThere() async throws {
        let tag = (name: "ETag", value: "\"v1\"")
        let server = try FileServer(Self.content) { number, _ in
            guard number == 1 else { return .whole }
            let body = LoopbackServer.Response.Body.chunked { body in
                try body.write(Array(Self.content))
                body.connection.close()
            }
            return .other(.init(headers: [tag], body: body))
        }
        var options = DownloadOptions()
        options.maximumFailures = 0
        await fails(.truncatedBody) { try await download(server.url, options).value }
        let file = try await download(server.url).value
        #expect(server.ranges == [nil, "bytes=2000000-", "bytes=1999999-"])
        #expect(file.response.status == .partialContent && file.size == 2_000_000 && file.resumedBytes == 2_000_000)
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
    }

    /// A file that has changed on the server is downloaded again.
    @Test func aFileThatWasThere() async throws {
        let server = try FileServer(Self.content)
        let first = download(server.url).validate { [folder] _, _, _ in
            folder.write(Data("new".utf8), to: "a.bin")
        }
        await fails(.file) { try await first.value }
        server.change(to: noise(1000), tag: "\"v2\"")
        let file = try await session.downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile)).value
        #expect(file.response.status == .ok && file.size == 1000 && file.resumedBytes == 0)
        #expect(folder.data("a.bin") == noise(1000))
    }

    // MARK: Errors behind redirects

    private func error(_ request: Request) async throws -> TrellisError {
        try await #require(throws: TrellisError.self) { _ = try await session.data(request) }
    }

    @Test func aConnectionThatIsRefusedBehindARedirect() async throws {
        let url = try ClosedPort().url("/b")
        let gateway = try gateway(to: url)
        let error = try await error(Request(gateway.url("/a")))
        #expect(error.kind == .connect && error.redirects.map(\.to) == [url] && error.url == url)
    }

    @Test func aBodyThatIsCutBehindARedirect() async throws {
        let server = try FileServer(Self.content) { _, _ in .cut(1000) }
        let gateway = try gateway(to: server.url)
        let error = try await error(Request(gateway.url("/a")))
        #expect(error.kind == .truncatedBody && error.redirects.map(\.from) == [gateway.url("/a")])
    }

    @Test func aPageThatIsNoneBehindARedirect() async throws {
        let server = try LoopbackServer.http { _ in .init(404) }
        let gateway = try gateway(to: server.url("/b"))
        let error = try await #require(throws: TrellisError.self) {
            _ = try await session.request(gateway.url("/a")).validate().data()
        }
        #expect(error.kind == .unacceptableStatus && error.redirects.map(\.to) == [server.url("/b")])
    }
}
