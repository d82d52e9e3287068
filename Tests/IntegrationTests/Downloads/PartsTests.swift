import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Files are downloaded over several connections at once.
@Suite(.timeLimit(.minutes(3)))
struct PartsTests {
    private static let content = noise(16 << 20, seed: 3)
    private let folder: Folder
    private let session: Session
    private var options = DownloadOptions()

    init() throws {
        folder = try Folder()
        session = Session()
        options.connections = 4
    }

    private func download(_ server: FileServer) -> DownloadRequest { download(server, session) }

    private func download(_ server: FileServer, _ session: Session) -> DownloadRequest {
        session.downloadRequest(server.url, to: .file(folder("a.bin")), options: options)
    }

    private var isWhole: Bool { folder.data("a.bin") == Self.content && folder.names == ["a.bin"] }

    /// Returns a server that holds a response until a later request has come. The first connection would sometimes have the whole file
    /// before there is a second one.
    private func server(
        fields: String = "", holding held: Int, untilThereAre count: Int, cutting isCut: Bool
    ) throws -> FileServer {
        let isDivided = LoopbackServer.Gate()
        return try FileServer(Self.content, fields: fields) { number, _ in
            if number >= count { isDivided.open() }
            return number == held ? .held(1 << 20, isDivided) : isCut && number == 1 ? .cut(5 << 20) : .whole
        }
    }

    @Test func partsComeAtTheSameTime() async throws {
        let server = try server(holding: 1, untilThereAre: 4, cutting: false)
        let request = download(server)
        let file = try await request.value
        #expect(isWhole && file.size == 16 << 20 && file.interruptions == 0)
        #expect(server.ranges[0] == nil && server.ranges.count >= 4)
        #expect(server.ranges.dropFirst().allSatisfy { $0 != nil })
        #expect(request.currentProgress.completedBytes == 16 << 20)
    }

    /// A part that is longer than its range is cut: the bytes after the range are not those of the file.
    @Test func aPartThatIsLongerThanItSays() async throws {
        let server = try FileServer(Self.content) { _, request in
            guard let range = request["Range"] else { return .whole }
            let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            let middle = (ends[0] + ends[1]) / 2
            let head =
                "HTTP/1.1 206 Part\r\nETag: \"v1\"\r\nContent-Range: bytes \(ends[0])-\(middle)/\(Self.content.count)\r\n"
                + "Connection: close\r\n\r\n"
            let body = Array(Self.content[ends[0]...middle]) + [UInt8](repeating: 0, count: ends[1] - middle)
            return .other(.init(body: .raw { try $0.write(Array(head.utf8) + body) }))
        }
        #expect(try await download(server).value.size == 16 << 20)
        #expect(isWhole)
    }

    /// A connection that the server refuses for a long time leaves its work to the others, and its request need not be repeated when all
    /// bytes have arrived. Some servers limit the connections of a client. The suite's time limit is shorter than such a wait and its
    /// request.
    @Test(arguments: ["60", "3600"])
    func whoIsSentAwayHoldsNobodyUp(_ seconds: String) async throws {
        let server = try FileServer(Self.content) { number, _ in
            number == 3 ? .other(.init(503, headers: [(name: "Retry-After", value: seconds)])) : .whole
        }
        #expect(try await download(server).value.size == 16 << 20)
        #expect(isWhole)
    }

    @Test func theirDigestIsChecked() async throws {
        let server = try FileServer(Self.content)
        let wrong = session.downloadRequest(
            server.url, to: .file(folder("a.bin")), checksum: .sha256(String(repeating: "0", count: 64)),
            options: options)
        await fails(.checksumMismatch) { try await wrong.value }
        #expect(folder.names == [])
    }

    /// The server's digest is checked when a download continues, although only the responses with the parts have contained the digest.
    @Test(arguments: [1, 4]) mutating func theServersDigestIsCheckedWhenItGoesOn(_ connections: Int) async throws {
        let digest = Data(repeating: 7, count: 32).base64EncodedString()
        let field = "Repr-Digest: sha-256=:\(digest):\r\n"
        let server = try server(fields: field, holding: 2, untilThereAre: connections + 1, cutting: true)
        var single = DownloadOptions()
        single.maximumFailures = 0
        await fails(.truncatedBody) {
            try await session.downloadRequest(server.url, to: .file(folder("a.bin")), options: single).value
        }
        options.connections = connections
        await fails(.checksumMismatch) { try await download(server).value }
        // After the parts, the download begins anew once.
        #expect(server.ranges.dropFirst().prefix(connections).allSatisfy { $0 != nil })
        #expect(server.ranges.count > connections + 1)
        #expect(folder.names == [])
    }

    /// Connections that stop forever leave their work, to the last byte, to the others.
    @Test(arguments: [[1], [2], [1, 2, 3]])
    func connectionsThatStandStill(_ still: Set<Int>) async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in
            still.contains(number) ? .stalled(100_000, gate) : .whole
        }
        // The connections look at each other twice a second.
        let request = download(server, Session(leaping: LeapingClock()))
        let file = try await request.value
        #expect(file.size == 16 << 20 && file.interruptions == 0 && isWhole)
        #expect(request.currentProgress.completedBytes == 16 << 20)
        gate.open()
        try await server.server.waitUntilAllClosed()
    }

    /// A connection on which not even a head arrives leaves its work to the others.
    @Test func aConnectionThatSaysNothing() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in number == 2 ? .silent(gate) : .whole }
        _ = try await download(server, Session(leaping: LeapingClock())).value
        #expect(isWhole)
        gate.open()
    }

    /// A connection that is too slow to finish leaves its work to the others.
    @Test func aConnectionThatCrawls() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 2 ? .crawling(1000) : .whole }
        #expect(try await download(server, Session(leaping: LeapingClock())).value.interruptions == 0)
        #expect(isWhole)
    }

    @Test func everyConnectionIsCutAgainAndAgain() async throws {
        let server = try FileServer(Self.content) { number, _ in
            number.isMultiple(of: 2) ? .cut(300_000) : .reset(700_000)
        }
        let file = try await download(server).value
        #expect(isWhole && file.interruptions > 10)
    }

    /// A file is read over one connection if the server announces parts but serves none.
    @Test mutating func aServerThatRefusesParts() async throws {
        let server = try FileServer(Self.content) { number, request in
            request["Range"] != nil ? .other(.init(503)) : .whole
        }
        options.maximumFailures = 1
        #expect(try await download(server).value.size == 16 << 20)
        #expect(isWhole)
    }

    @Test func aServerThatPromisesPartsAndHasNone() async throws {
        let server = try FileServer(Self.content) { _, request in
            guard request["Range"] != nil else { return .whole }
            return .other(.init(headers: [("ETag", "\"v1\"")], body: Self.content))
        }
        _ = try await download(server).value
        #expect(isWhole)
    }

    @Test func aServerWithoutParts() async throws {
        let server = try LoopbackServer.http { _ in
            .init(headers: [("ETag", "\"v1\""), ("Accept-Ranges", "none")], body: Self.content)
        }
        _ = try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin")), options: options).value
        #expect(isWhole && server.requests.count == 1)
    }

    @Test mutating func noMoreConnectionsThanTheSessionAllows() async throws {
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = 2
        let server = try FileServer(Self.content)
        let session = Session(configuration: configuration)
        options.connections = 8
        _ = try await session.downloadRequest(server.url, to: .file(folder("a.bin")), options: options).value
        #expect(isWhole)
        #expect(server.server.requests.count < 8)
    }

    /// A file that changes during the download is not joined from two versions.
    @Test func aFileThatChanges() async throws {
        let other = noise(16 << 20, seed: 4)
        let headers = [("ETag", "\"v2\""), ("Content-Range", "bytes 8388608-16777215/16777216")]
            .map { (name: $0.0, value: $0.1) }
        let server = try FileServer(Self.content) { number, _ in
            number == 2 ? .other(.init(206, headers: headers, body: other.suffix(8 << 20))) : .whole
        }
        _ = try await download(server).value
        #expect(isWhole)
    }

    /// The state on the disk in the middle of a download can be resumed, over one connection or several.
    @Test(arguments: [1, 4])
    func afterAKilledProcess(_ connections: Int) async throws {
        let gate = LoopbackServer.Gate(), isDivided = LoopbackServer.Gate()
        // Otherwise, the last part might have fewer bytes, and its connection would go on with the others'.
        let server = try FileServer(Self.content) { number, request in
            if number == 4 { isDivided.open() }
            return number <= 4 ? .begun(isDivided, .stalled(3 << 20, gate)) : .whole
        }
        let victim = download(server)
        for await progress in victim.progress where progress.completedBytes >= 12 << 20 { break }
        let grave = try Folder()
        grave.write(try #require(folder.data(".a.bin.trellis-part")), to: ".a.bin.trellis-part")
        grave.write(try #require(folder.data(".a.bin.trellis-note")), to: ".a.bin.trellis-note")
        var options = DownloadOptions()
        options.connections = connections
        let file = try await Session().downloadRequest(server.url, to: .file(grave("a.bin")), options: options).value
        // The bytes since the last note arrive again.
        #expect(file.resumedBytes >= 4 << 20)
        #expect(grave.data("a.bin") == Self.content && grave.names == ["a.bin"])
        let data = try #require(await victim.cancelProducingResumeData())
        #expect(data.receivedBytes >= 12 << 20)
        gate.open()
        _ = try await session.downloadRequest(resuming: data, to: .file(folder("a.bin")), options: options).value
        #expect(isWhole)
    }

    /// The length of a file with gaps is not used: after a process that ends early, only the bytes recorded in its note count.
    @Test func afterAnEarlyEnd() async throws {
        let gate = LoopbackServer.Gate(), isDivided = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in
            if number == 4 { isDivided.open() }
            return number <= 4 ? .begun(isDivided, .stalled(1 << 20, gate)) : .whole
        }
        let victim = download(server)
        for await progress in victim.progress where progress.completedBytes >= 4 << 20 { break }
        let grave = try Folder()
        grave.write(try #require(folder.data(".a.bin.trellis-part")), to: ".a.bin.trellis-part")
        grave.write(try #require(folder.data(".a.bin.trellis-note")), to: ".a.bin.trellis-note")
        let file = try await Session().downloadRequest(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes <= 4 << 20 && grave.data("a.bin") == Self.content)
        victim.cancel()
        gate.open()
    }

    /// A download that one connection began is completed by several.
    @Test func afterOneConnection() async throws {
        let server = try server(holding: 2, untilThereAre: 5, cutting: true)
        var single = DownloadOptions()
        single.maximumFailures = 0
        await fails(.truncatedBody) {
            try await session.downloadRequest(server.url, to: .file(folder("a.bin")), options: single).value
        }
        let file = try await download(server).value
        #expect(file.resumedBytes == 5 << 20 && isWhole)
        #expect(server.ranges.count >= 5 && server.ranges.dropFirst().allSatisfy { $0 != nil })
    }
}
