import Foundation
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// Downloads reach their destinations over a network without faults.
@Suite(.timeLimit(.minutes(3)))
struct DownloadTests {
    private static let content = noise(300_000)
    private let folder: Folder
    private let session = Session()
    private let server: FileServer

    init() throws {
        folder = try Folder()
        server = try FileServer(Self.content)
    }

    @Test func whatWasPrivateStaysSo() async throws {
        folder.write(Data("old".utf8), to: "a.bin")
        let permissions: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        try FileManager.default.setAttributes(permissions, ofItemAtPath: folder("a.bin"))
        let server = try FileServer(noise(1000))
        _ = try await session.downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile)).value
        let attributes = try FileManager.default.attributesOfItem(atPath: folder("a.bin"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(folder.data("a.bin") == noise(1000))
    }

    @Test func toAPath() async throws {
        let download = session.downloadRequest(server.url, to: .file(folder("a.bin")))
        let file = try await download.value
        #expect(file.path == folder("a.bin") && file.size == 300_000 && file.resumedBytes == 0)
        #expect(file.response.status == .ok && file.interruptions == 0)
        #expect(folder.data("a.bin") == Self.content)
        #expect(folder.names == ["a.bin"])
        #expect(download.state == .finished && download.resumeData == nil)
        #expect(server.server.requests[0]["Accept-Encoding"] == "identity")
        #expect(try await download.value.path == file.path)
        #expect(server.server.requests.count == 1)
    }

    @Test func aFileThatIsThereStays() async throws {
        folder.write(Data("old".utf8), to: "a.bin")
        await fails(.file, .downloadFailed(.exists(path: folder("a.bin")))) {
            try await session.downloadRequest(server.url, to: .file(folder("a.bin"))).value
        }
        #expect(folder.data("a.bin") == Data("old".utf8) && folder.names == ["a.bin"])
        #expect(server.server.requests.isEmpty)
    }

    @Test func aFileThatComesMeanwhileStaysToo() async throws {
        let download = session.downloadRequest(server.url, to: .file(folder("a.bin"))).validate { [folder] _, _, _ in
            folder.write(Data("new".utf8), to: "a.bin")
        }
        await fails(.file, .downloadFailed(.exists(path: folder("a.bin")))) { try await download.value }
        #expect(folder.data("a.bin") == Data("new".utf8))
        // The bytes are kept for another download.
        let file = try await session.downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile)).value
        #expect(file.resumedBytes == 300_000 && server.ranges == [nil, "bytes=299999-"])
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
    }

    @Test func aFileIsReplaced() async throws {
        folder.write(Data("old".utf8), to: "a.bin")
        try FileManager.default.createSymbolicLink(atPath: folder("link"), withDestinationPath: "a.bin")
        _ = try await session.downloadRequest(server.url, to: .file(folder("link"), .removePreviousFile)).value
        #expect(folder.data("a.bin") == Self.content)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder("link")) == "a.bin")
    }

    @Test(arguments: ["missing/a.bin", "a\0b", "", "file/a.bin", "folder/"])
    func placesThatCannotBeNothingIsSent(_ name: String) async throws {
        folder.write(Data(), to: "file")
        let path = name.isEmpty ? "" : folder(name)
        let error = await fails(.file) { try await session.downloadRequest(server.url, to: .file(path)).value }
        #expect(error?.description.contains("cannot be written") == true)
        #expect(server.server.requests.isEmpty && folder.names == ["file"])
    }

    @Test(arguments: ["missing", "file"])
    func foldersThatAreNone(_ name: String) async throws {
        folder.write(Data(), to: "file")
        await fails(.file) { try await session.downloadRequest(server.url, to: .directory(folder(name))).value }
        #expect(server.server.requests.isEmpty && folder.names == ["file"])
    }

    @Test func whatIsNoFileIsNotReplaced() async throws {
        for path in [folder.path, "/dev/null"] {
            await fails(.file) {
                try await session.downloadRequest(server.url, to: .file(path, .removePreviousFile)).value
            }
        }
        #expect(server.server.requests.isEmpty)
    }

    /// A download to a path of the greatest possible length works. There is no room for a number after the name of the partial file, so
    /// that other partial files are not searched for.
    @Test func aPathThatIsAsLongAsItMayBe() async throws {
        var path = folder.path
        // The limit is 4096 bytes, including the NUL.
        let length = 4095 - "/.a.bin.trellis-part".utf8.count
        while path.utf8.count < length {
            let room = length - path.utf8.count
            // A name needs a slash and a letter.
            path += "/" + String(repeating: "x", count: room == 202 ? 199 : min(200, room - 1))
        }
        path += "/a.bin"
        let file = try await session.downloadRequest(server.url, to: .file(path, .createIntermediateDirectories)).value
        #expect(file.path == path && FileManager.default.contents(atPath: path) == Self.content)
    }

    @Test func foldersAreMade() async throws {
        let path = folder("x/y/z/a.bin")
        let options: DownloadDestination.Options = [.createIntermediateDirectories, .synchronize]
        _ = try await session.downloadRequest(server.url, to: .file(path, options)).value
        #expect(FileManager.default.contents(atPath: path) == Self.content)
    }

    @Test(
        arguments: [
            (nil, "file.bin"), ("attachment; filename=\"../../x.txt\"", "x.txt"),
            ("attachment; filename=\"..\"", "file.bin"),
            ("attachment; filename*=UTF-8''%2fetc%2fna%C3%AFve", "naïve"),
            ("attachment; filename=\"/etc/cron.d/x\"", "x"), ("attachment; filename*=UTF-8''a%00b.txt", "ab.txt"),
            ("attachment; filename=\"../a\"; filename*=UTF-8''..%2fb", "b"),
            (
                "attachment; filename=\"\(String(repeating: "a", count: 10_240)).iso\"",
                String(repeating: "a", count: 196) + ".iso"
            ),
        ] as [(String?, String)])
    func toAFolder(_ disposition: String?, _ name: String) async throws {
        let server = try LoopbackServer.http { _ in
            .init(headers: disposition.map { [("Content-Disposition", $0)] } ?? [], body: Self.content)
        }
        let file = try await session.downloadRequest(server.url("/folder/file.bin?a=b"), to: .directory(folder.path))
            .value
        #expect(file.path == folder(name) && folder.names == [name])
    }

    /// A name with a NUL makes the response malformed, because a field cannot hold a NUL.
    @Test func aNameWithANUL() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"a\0b\"\r\nContent-Length: 2\r\n\r\nok")
        }
        await fails(.malformedResponse) {
            try await session.downloadRequest(server.url("/a"), to: .directory(folder.path)).value
        }
        #expect(folder.names == [])
    }

    /// A coded body is decoded even if no coding was requested, and the progress counts the bytes that the server has announced.
    @Test func aCodedBody() async throws {
        let coded = storedInGzip(Self.content)
        let server = try LoopbackServer.http { _ in .init(headers: [("Content-Encoding", "gzip")], body: coded) }
        let download = session.downloadRequest(server.url("/a"), to: .file(folder("a")))
        var last: TransferProgress?
        for await progress in download.progress {
            #expect(progress.completedBytes <= progress.totalBytes ?? .max)
            last = progress
        }
        #expect(last?.totalBytes == Int64(coded.count))
        #expect(last?.completedBytes == Int64(coded.count))
        #expect(try await download.value.size == 300_000 && folder.data("a") == Self.content)
        let request = session.request(server.url("/a"))
        async let progress = request.downloadProgress.reduce(nil) { $1 }
        #expect(try await request.data() == Self.content)
        let end = await progress
        #expect(end?.completedBytes == Int64(coded.count))
        #expect(end?.fraction == 1)
    }

    @Test func whereAClosureSays() async throws {
        struct NoPlace: Error {}
        let file = try await session.downloadRequest(
            server.url, to: .choosing { [folder] in folder("\($0.status.code)-\($0.suggestedFileName)") }
        ).value
        #expect(file.path == folder("200-file.bin") && folder.names == ["200-file.bin"])
        await #expect(throws: NoPlace.self) {
            try await session.downloadRequest(server.url, to: .choosing { _ in throw NoPlace() }).value
        }
    }

    @Test func toATemporaryFile() async throws {
        let file = try await session.downloadRequest(server.url).value
        defer { try? FileManager.default.removeItem(atPath: file.path) }
        #expect(FileManager.default.contents(atPath: file.path) == Self.content)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test(.trellis(.http { _ in .text("no such thing", status: 404) }))
    func anErrorPageIsNoFile() async throws {
        let session = try #require(Session.current)
        let error = await fails(.unacceptableStatus) {
            try await session.downloadRequest("/a", to: .file(folder("a"))).value
        }
        #expect(error?.bodyExcerpt?.text == "no such thing")
        #expect(folder.names == [])
        let page = session.downloadRequest("/a", to: .file(folder("a"))).validate(statusCode: 200..<500)
        _ = try await page.value
        #expect(folder.data("a") == Data("no such thing".utf8))
    }

    @Test func anEmptyFile() async throws {
        let server = try FileServer(Data())
        #expect(try await session.downloadRequest(server.url, to: .file(folder("a"))).value.size == 0)
        #expect(folder.data("a") == Data())
    }

    /// A body without an announced length is downloaded.
    @Test(
        .trellis(
            .http { _ in
                LoopbackServer.Response(
                    body: .chunked { body in
                        for _ in 0..<10 { try body.write(Array(DownloadTests.content.prefix(30_000))) }
                    })
            }))
    func chunked() async throws {
        let download = try #require(Session.current).downloadRequest("/a", to: .file(folder("a")))
        #expect(try await download.value.size == 300_000)
        #expect(download.currentProgress.totalBytes == nil && download.currentProgress.completedBytes == 300_000)
    }

    @Test func progressStartsTheDownloadAndEndsWithIt() async throws {
        let download = session.downloadRequest(server.url, to: .file(folder("a.bin")))
        #expect(download.state == .initialized)
        var last: TransferProgress?
        for await progress in download.progress { last = progress }
        #expect(last?.completedBytes == 300_000 && last?.fraction == 1 && last?.bytesPerSecond != nil)
        #expect(try await download.response.status == .ok)
        #expect(folder.data("a.bin") == Self.content)
    }

    /// Several downloads to one place at the same time are each complete, and the last file stays.
    @Test func severalDownloadsToOnePlace() async throws {
        let destination = DownloadDestination.file(folder("a.bin"), .removePreviousFile)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { [session, url = server.url] in
                    _ = try await session.downloadRequest(url, to: destination).value
                }
            }
            try await group.waitForAll()
        }
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
    }
}

/// Expects that a download fails with an error of a kind, and returns the error.
@discardableResult
func fails(
    _ kind: TrellisError.Kind, _ reason: TrellisError.Reason? = nil, _ location: SourceLocation = #_sourceLocation,
    _ body: () async throws -> DownloadedFile
) async -> TrellisError? {
    do {
        let file = try await body()
        Issue.record("there is a file: \(file.path)", sourceLocation: location)
    } catch let error as TrellisError {
        #expect(error.kind == kind, "\(error)", sourceLocation: location)
        if let reason { #expect(error.reason == reason, sourceLocation: location) }
        return error
    } catch {
        Issue.record(error, sourceLocation: location)
    }
    return nil
}
