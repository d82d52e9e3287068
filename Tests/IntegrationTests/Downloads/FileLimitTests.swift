import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// Downloads whose request limits the body stay within the limit, however many responses deliver the file.
@Suite(.timeLimit(.minutes(3)))
struct FileLimitTests {
    private static let content = noise(1_000_000)
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// Returns the kind of the error of a download with a limit; `nil` if the download succeeds.
    private func kind(of server: FileServer, limit: Int, connections: Int = 1) async -> TrellisError.Kind? {
        var request = Request(server.url)
        request.maximumBodySize = .bytes(limit)
        var options = DownloadOptions()
        options.connections = connections
        let session = Session(leaping: LeapingClock())
        let download = session.downloadRequest(request, to: .file(folder("a.bin")), options: options)
        do {
            _ = try await download.value
            return nil
        } catch {
            return (error as? TrellisError)?.kind
        }
    }

    /// A file with an announced size above the limit is not begun. Each response would contain half of the rest, which is less than the
    /// limit.
    @Test(arguments: [1, 4]) func aFileThatIsAnnouncedIsNotBegun(connections: Int) async throws {
        let server = try FileServer(Self.content) { number, _ in number < 5 ? .cut(1_000_000 >> number) : .whole }
        #expect(await kind(of: server, limit: 999_999, connections: connections) == .bodyTooLarge)
        #expect(server.ranges == [nil] && folder.names == [])
    }

    @Test(arguments: [1, 4]) func aFileOfTheLimitComesWhole(connections: Int) async throws {
        let server = try FileServer(Self.content) { number, _ in number < 3 ? .cut(1_000_000 >> number) : .whole }
        #expect(await kind(of: server, limit: 1_000_000, connections: connections) == nil)
        #expect(folder.data("a.bin") == Self.content)
    }

    /// A file of unknown length is given up when it exceeds the limit.
    @Test func aFileThatGrowsPastTheLimitIsGivenUp() async throws {
        let tag = "ETag: \"v1\"\r\nConnection: close\r\n"
        let answers = [
            "200 OK\r\n\(tag)Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
            "206 Part\r\n\(tag)Content-Range: bytes 5-7/*\r\nContent-Length: 3\r\n\r\nfgh",
            "416 No\r\n\(tag)Content-Range: bytes */8\r\nContent-Length: 0\r\n\r\n",
        ]
        let server = try FileServer(Self.content) { number, _ in
            .other(.init(body: .raw { try $0.write("HTTP/1.1 \(answers[min(number, 3) - 1])") }))
        }
        #expect(await kind(of: server, limit: 7) == .bodyTooLarge)
        #expect(folder.data("a.bin") == nil && server.ranges == [nil, "bytes=5-"])
        let same = try FileServer(Self.content) { number, _ in
            .other(.init(body: .raw { try $0.write("HTTP/1.1 \(answers[min(number, 3) - 1])") }))
        }
        #expect(await kind(of: same, limit: 8) == nil)
        #expect(folder.data("a.bin") == Data("abcdefgh".utf8))
    }
}
