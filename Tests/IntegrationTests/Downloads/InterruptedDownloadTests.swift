import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Downloads over a network that does not behave: they end in the right file, or in no file.
@Suite(.timeLimit(.minutes(2)))
struct InterruptedDownloadTests {
    private static let content = noise(2_000_000)
    private let folder: Folder
    private let session = Session()

    init() throws { folder = try Folder() }

    private func download(_ server: FileServer, options: DownloadOptions = DownloadOptions()) -> DownloadRequest {
        session.download(server.url, to: .file(folder("a.bin")), options: options)
    }

    /// What a download has left.
    private func isWhole(_ content: Data = content) -> Bool {
        folder.data("a.bin") == content && folder.names == ["a.bin"]
    }

    /// 200 cuts at random places, in order and with a reset.
    @Test func twoHundredCuts() async throws {
        let content = noise(8 << 20, seed: 7)
        let server = try FileServer(content) { number, _ in
            guard number <= 200 else { return .whole }
            // Multiplicative hashing: the same places in every run.
            let place = 17_000 + (number &* 2_654_435_761) % 46_000
            return number.isMultiple(of: 3) ? .reset(place) : .cut(place)
        }
        let digest = try #require(MessageDigest(.sha256))
        digest.update(content)
        let checksum = Checksum.sha256(try #require(digest.finish()))
        let file = try await session.download(server.url, to: .file(folder("a.bin")), checksum: checksum).value
        #expect(isWhole(content))
        // A reset may lose what was on its way.
        #expect(file.interruptions > 150 && file.size == 8 << 20)
    }

    @Test func aRangeIsAskedForWithItsTag() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(500_000) : .whole }
        let file = try await download(server).value
        #expect(isWhole() && file.interruptions == 1 && file.resumedBytes == 0)
        #expect(server.ranges == [nil, "bytes=500000-"])
        #expect(server.server.requests[1]["If-Range"] == "\"v1\"")
        #expect(file.response.status == .partialContent)
    }

    /// What is another file by now is not glued to the old part.
    @Test func aChangedFileBeginsAnew() async throws {
        let other = noise(900_000, seed: 2)
        let change = Locked<(@Sendable () -> Void)?>(nil)
        let server = try FileServer(Self.content) { number, _ in
            if number == 2 { change.withLock { $0?() } }
            return number == 1 ? .cut(500_000) : .whole
        }
        change.withLock { $0 = { [weak server] in server?.change(to: other, tag: "\"v2\"") } }
        let file = try await download(server).value
        #expect(file.size == 900_000 && isWhole(other))
        #expect(server.ranges == [nil, "bytes=500000-"])
    }

    /// Without a strong validator nothing can be gone on with.
    @Test(arguments: [nil, "W/\"v1\""])
    func withoutAStrongTagAllComesAgain(_ tag: String?) async throws {
        let server = try FileServer(Self.content, tag: tag) { number, _ in number <= 2 ? .cut(500_000) : .whole }
        _ = try await download(server).value
        #expect(isWhole() && server.ranges == [nil, nil, nil])
    }

    struct Lie: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: @Sendable () -> LoopbackServer.Answer

        init(_ name: String, status: Int = 206, _ headers: [(name: String, value: String)], _ body: Data) {
            testDescription = name
            answer = { .init(status, headers: headers, body: body) }
        }
    }

    private static let tag = (name: "ETag", value: "\"v1\"")

    /// The second answer is a lie; the file is the right one none the less.
    @Test(arguments: [
        Lie("another range", [tag, ("Content-Range", "bytes 0-1999999/2000000")], content),
        Lie("an overlap", [tag, ("Content-Range", "bytes 499999-1999999/2000000")], content.dropFirst(499_999)),
        Lie(
            "a range beyond the end", [tag, ("Content-Range", "bytes 500000-2000000/2000001")],
            content.dropFirst(499_999)),
        Lie("no range", [tag], content.dropFirst(500_000)),
        Lie("another tag", [("ETag", "\"v2\""), ("Content-Range", "bytes 500000-1999999/2000000")], noise(1_500_000)),
        Lie("no tag", [("Content-Range", "bytes 500000-1999999/2000000")], noise(1_500_000)),
        Lie("a weak tag", [("ETag", "W/\"v1\""), ("Content-Range", "bytes 500000-1999999/2000000")], noise(1_500_000)),
        Lie(
            "a coded part", [tag, ("Content-Range", "bytes 500000-1999999/2000000"), ("Content-Encoding", "gzip")],
            noise(1_500_000)),
        Lie("several parts", [tag, ("Content-Type", "multipart/byteranges; boundary=a")], Data("--a--".utf8)),
        Lie("416", status: 416, [tag, ("Content-Range", "bytes */2000000")], Data()),
        Lie("416 and no more", status: 416, [], Data()),
        Lie("a part of a part", [tag, ("Content-Range", "bytes 500000-500099/2000000")], content[500_000..<500_100]),
        Lie("all of it", status: 200, [tag], content),
        Lie("not well", status: 503, [], Data("come back".utf8)),
        Lie("slow down", status: 429, [("Retry-After", "1")], Data()),
    ])
    func lies(_ lie: Lie) async throws {
        let server = try FileServer(Self.content) { number, _ in
            switch number {
            case 1: .cut(500_000)
            case 2: .other(lie.answer())
            default: .whole
            }
        }
        _ = try await download(server).value
        #expect(isWhole())
        #expect(server.server.errors.isEmpty)
    }

    /// A part that is longer than it said, which only its own framing tells.
    @Test func aPartThatIsTooLong() async throws {
        let server = try FileServer(Self.content) { number, _ in
            switch number {
            case 1: .cut(500_000)
            case 2:
                .other(
                    .init(
                        206, headers: [Self.tag, ("Content-Range", "bytes 500000-1999999/2000000")],
                        body: .chunked { try $0.write(Array(noise(1_500_001))) }))
            default: .whole
            }
        }
        _ = try await download(server).value
        #expect(isWhole())
    }

    /// The status of the next answer is final, and the part stays.
    @Test func whatIsGoneMeanwhileIsAnError() async throws {
        let server = try FileServer(Self.content) { number, _ in
            number == 1 ? .cut(500_000) : number == 2 ? .other(.init(410)) : .whole
        }
        let request = download(server)
        await fails(.unacceptableStatus) { try await request.value }
        #expect(request.resumeData?.receivedBytes == 500_000 && request.resumeData?.totalBytes == 2_000_000)
        #expect(folder.names == [".a.bin.trellis-note", ".a.bin.trellis-part"])
        #expect(try await download(server).value.resumedBytes == 500_000)
        #expect(isWhole())
    }

    @Test func aServerThatBringsNothingIsGivenUp() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(500_000) : .cut(0) }
        var options = DownloadOptions()
        options.maximumFailures = 2
        await fails(.truncatedBody) { try await download(server, options: options).value }
        // The first interruption came after something.
        #expect(server.ranges.count == 3)
        #expect(folder.data("a.bin") == nil)
    }

    @Test func interruptionsAreErrorsWhereTheyAreToBe() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(500_000) : .whole }
        var options = DownloadOptions()
        options.maximumFailures = 0
        options.keepsPartialFile = false
        await fails(.truncatedBody) { try await download(server, options: options).value }
        #expect(folder.names == [])
    }

    @Test func aBodyOfAnotherMethodComesOnce() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(500_000) : .whole }
        let request = Request(server.url, method: .post, body: .string("a", contentType: "text/plain"))
        await fails(.truncatedBody) { try await session.download(request, to: .file(folder("a.bin"))).value }
        #expect(folder.names == [] && server.ranges.count == 1)
    }

    // MARK: Going on later

    /// What is on the disk while a download is under way is what a killed process leaves.
    @Test func afterAKilledProcess() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .stalled(700_000, gate) : .whole }
        let victim = download(server)
        for await progress in victim.progress where progress.completedBytes > 0 { break }
        let part = try #require(folder.data(".a.bin.trellis-part"))
        let note = try #require(folder.data(".a.bin.trellis-note"))
        #expect(!part.isEmpty)
        let grave = try Folder()
        grave.write(part, to: ".a.bin.trellis-part")
        grave.write(note, to: ".a.bin.trellis-note")
        let file = try await Session().download(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes == Int64(part.count) && grave.data("a.bin") == Self.content)
        #expect(grave.names == ["a.bin"])
        victim.cancel()
        gate.open()
    }

    /// A long part of one version is no part of another, of which less has come when the process ends.
    @Test func aChangedFileAndAKilledProcess() async throws {
        let gate = LoopbackServer.Gate()
        let other = noise(2_000_000, seed: 2)
        let server = try FileServer(Self.content) { number, _ in
            switch number {
            case 1: .cut(1_500_000)
            case 2: .stalled(300_000, gate)
            default: .whole
            }
        }
        var options = DownloadOptions()
        options.maximumFailures = 0
        await fails(.truncatedBody) { try await download(server, options: options).value }
        server.change(to: other, tag: "\"v2\"")
        let victim = download(server)
        for await progress in victim.progress where progress.completedBytes == 300_000 { break }
        let grave = try Folder()
        grave.write(try #require(folder.data(".a.bin.trellis-part")), to: ".a.bin.trellis-part")
        grave.write(try #require(folder.data(".a.bin.trellis-note")), to: ".a.bin.trellis-note")
        let file = try await Session().download(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes == 300_000 && grave.data("a.bin") == other)
        victim.cancel()
        gate.open()
    }

    /// What it brought counts too.
    @Test func aDownloadThatWasGoneOnWithAndKilled() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in
            switch number {
            case 1: .cut(500_000)
            case 2: .stalled(700_000, gate)
            default: .whole
            }
        }
        var options = DownloadOptions()
        options.maximumFailures = 0
        await fails(.truncatedBody) { try await download(server, options: options).value }
        let victim = download(server)
        for await progress in victim.progress where progress.completedBytes == 1_200_000 { break }
        let grave = try Folder()
        grave.write(try #require(folder.data(".a.bin.trellis-part")), to: ".a.bin.trellis-part")
        grave.write(try #require(folder.data(".a.bin.trellis-note")), to: ".a.bin.trellis-note")
        let file = try await Session().download(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes == 1_200_000 && grave.data("a.bin") == Self.content)
        victim.cancel()
        gate.open()
    }

    @Test func aServerIsAskedAgainWhenItWantsTo() async throws {
        let server = try FileServer(Self.content) { number, _ in
            switch number {
            case 1: .cut(500_000)
            case 2: .other(.init(503, headers: [(name: "Retry-After", value: "61")]))
            default: .whole
            }
        }
        let error = await fails(.unacceptableStatus) { try await download(server).value }
        #expect(error?.response?.status == .serviceUnavailable)
        #expect(server.ranges.count == 2)
    }

    /// Nobody knows how long it is until it is whole.
    @Test func aBodyOfUnknownLength() async throws {
        let server = try LoopbackServer.http { request in
            let tag = (name: "ETag", value: "\"v1\"")
            guard let start = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
                return .init(
                    headers: [tag],
                    body: .chunked { body in
                        try body.write(Array(Self.content.prefix(400_000)))
                        body.connection.close()
                    })
            }
            guard start < Self.content.count else {
                return .init(416, headers: [tag, ("Content-Range", "bytes */\(Self.content.count)")])
            }
            let end = min(start + 900_000, Self.content.count)
            return .init(
                206, headers: [tag, ("Content-Range", "bytes \(start)-\(end - 1)/*")], body: Self.content[start..<end])
        }
        let file = try await session.download(server.url("/a"), to: .file(folder("a.bin"))).value
        #expect(isWhole() && file.size == 2_000_000)
        #expect(
            server.requests.map { $0["Range"] }
                == [nil, "bytes=400000-", "bytes=1300000-", "bytes=2000000-"])
    }

    @Test func inAFolderTheNameIsFoundAgain() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(600_000) : .whole }
        var options = DownloadOptions()
        options.maximumFailures = 0
        await fails(.truncatedBody) {
            try await session.download(server.url, to: .directory(folder.path), options: options).value
        }
        let file = try await session.download(server.url, to: .directory(folder.path)).value
        #expect(file.resumedBytes == 600_000 && file.path == folder("file.bin"))
        #expect(folder.data("file.bin") == Self.content && folder.names == ["file.bin"])
        #expect(server.ranges == [nil, nil, "bytes=600000-"])
    }

    @Test func resumeDataGoesOnElsewhere() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .stalled(700_000, gate) : .whole }
        let first = session.download(server.url)
        for await progress in first.progress where progress.completedBytes > 0 { break }
        let data = try #require(await first.cancelProducingResumeData())
        await fails(.cancelled) { try await first.value }
        #expect(data.receivedBytes > 0 && data.totalBytes == 2_000_000 && first.state == .cancelled)
        let copy = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
        let second = session.download(resuming: copy, to: .file(folder("a.bin")))
        #expect(try await second.value.resumedBytes == data.receivedBytes)
        #expect(isWhole() && !FileManager.default.fileExists(atPath: data.path))
        gate.open()
        // Once more: the partial file is not there any more.
        let third = session.download(resuming: copy, to: .file(folder("a.bin"), .removePreviousFile))
        #expect(try await third.value.resumedBytes == 0)
    }

    @Test func resumeDataOfAnotherURLIsAnError() async throws {
        let json = #"{"version":1,"url":"http://a.example/b","path":"/nowhere","entityTag":"\"x\"","done":[[0,5]]}"#
        let data = try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8))
        let server = try FileServer(Self.content)
        let error = await fails(.resumeData) {
            try await session.download(resuming: data, server.url, to: .file(folder("a.bin"))).value
        }
        #expect(error?.description.contains("http://a.example/b") == true)
        #expect(server.ranges.isEmpty && folder.names == [])
    }

    @Test(arguments: ["", "nonsense", #"{"version":9}"#])
    func aNoteThatMakesNoSenseIsNone(_ note: String) async throws {
        let server = try FileServer(Self.content)
        folder.write(Data("rubbish".utf8), to: ".a.bin.trellis-part")
        folder.write(Data(note.utf8), to: ".a.bin.trellis-note")
        #expect(try await download(server).value.resumedBytes == 0)
        #expect(isWhole())
    }

    // MARK: Checksums

    @Test func aChecksumThatDoesNotFit() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(600_000) : .whole }
        let checksum = Checksum.sha512(String(repeating: "00", count: 64))
        let error = await fails(.checksumMismatch) {
            try await session.download(server.url, to: .file(folder("a.bin")), checksum: checksum).value
        }
        #expect(error?.description.contains("its sha512 is ") == true)
        #expect(folder.names == [])
    }

    @Test func aDigestOfTheServerIsChecked() async throws {
        let wrong = [("Repr-Digest", "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):")]
        let server = try LoopbackServer.http { _ in .init(headers: wrong, body: Self.content) }
        await fails(.checksumMismatch) {
            try await session.download(server.url("/a"), to: .file(folder("a.bin"))).value
        }
        var options = DownloadOptions()
        options.verifiesDigestFields = false
        _ = try await session.download(server.url("/a"), to: .file(folder("a.bin")), options: options).value
        #expect(isWhole())
    }

    @Test func theDigestOfAResumedFileCountsWhatWasThere() async throws {
        let digest = try #require(MessageDigest(.sha256))
        digest.update(Self.content)
        let checksum = Checksum.sha256(try #require(digest.finish()))
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(600_000) : .whole }
        var options = DownloadOptions()
        options.maximumFailures = 0
        await fails(.truncatedBody) { try await download(server, options: options).value }
        let file = try await session.download(server.url, to: .file(folder("a.bin")), checksum: checksum).value
        #expect(file.resumedBytes == 600_000 && isWhole())
    }

    @Test func aDigestOfYourOwn() async throws {
        struct Sum: DigestFunction {
            var sum: UInt8 = 0
            mutating func update(_ bytes: Data) { for byte in bytes { sum &+= byte } }
            mutating func finish() -> [UInt8] { [sum] }
        }
        let server = try FileServer(Self.content)
        let sum = Self.content.reduce(UInt8(0)) { $0 &+ $1 }
        for (expected, fits) in [(sum, true), (sum &+ 1, false)] {
            let checksum = Checksum(name: "sum", [expected]) { Sum() }
            let destination = DownloadDestination.file(folder("a.bin"), .removePreviousFile)
            let result = await Task { [session] in
                try await session.download(server.url, to: destination, checksum: checksum).value
            }.result
            if case .success = result { #expect(fits) } else { #expect(!fits) }
        }
    }
}
