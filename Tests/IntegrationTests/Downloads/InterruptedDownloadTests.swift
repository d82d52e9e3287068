import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Downloads over a network with faults end with the correct file, or with no file.
@Suite(.timeLimit(.minutes(2)))
struct InterruptedDownloadTests: DownloadSuite {
    static let content = noise(2_000_000)
    let folder: Folder
    private let clock = LeapingClock()
    let session: Session

    init() throws {
        folder = try Folder()
        session = Session(leaping: clock)
    }

    /// A download survives many cuts at random places, with and without a reset, over one connection and over several. All cuts together
    /// are about as long as the file.
    @Test(arguments: [1, 4]) func manyCuts(_ connections: Int) async throws {
        let (content, count) = (noise(8 << 20, seed: 7), Scale.isFull ? 200 : 40)
        let server = try FileServer(content) { number, _ in
            guard number <= count else { return .whole }
            // Multiplicative hashing yields the same places in every run.
            let place = (17_000 + (number &* 2_654_435_761) % 46_000) * 200 / count
            return number.isMultiple(of: 3) ? .reset(place) : .cut(place)
        }
        let digest = try #require(MessageDigest(.sha256))
        digest.update(content)
        let checksum = Checksum.sha256(try #require(digest.finish()))
        var options = DownloadOptions()
        options.connections = connections
        let file = try await session.downloadRequest(
            server.url, to: .file(folder("a.bin")), checksum: checksum, options: options
        ).value
        #expect(isWhole(content))
        // A reset may lose bytes in transit.
        #expect(file.interruptions > count * 3 / 4 && file.size == 8 << 20)
    }

    /// The parts of two files with the same tag and length are not joined if a redirect leads to another server the second time.
    @Test(arguments: [1, 4])
    func whatARedirectLeadsToIsNotGluedToSomethingElse(connections: Int) async throws {
        let (one, other) = (noise(6 << 20, seed: 3), noise(6 << 20, seed: 4))
        let first = try FileServer(one) { number, _ in number == 1 ? .cut(2_000_000) : .silent(LoopbackServer.Gate()) }
        let second = try FileServer(other)
        let count = Locked(0)
        let front = try LoopbackServer.http { _ in
            let number = count.next()
            return .init(302, headers: [(name: "Location", value: number == 1 ? first.url : second.url)])
        }
        var options = DownloadOptions()
        options.connections = connections
        let file = try await session.downloadRequest(front.url(), to: .file(folder("a.bin")), options: options).value
        #expect(isWhole(other) && file.size == 6 << 20)
    }

    /// A connection that falls silent is given up at the limit on time without a byte.
    @Test func aSilentConnectionIsGivenUp() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .stalled(500_000, gate) : .whole }
        let request = download(server)
        for await progress in request.progress where progress.completedBytes == 500_000 { break }
        await session.settle()
        clock.move(by: LeapingClock.farAway)
        #expect(try await request.value.interruptions == 1)
        #expect(isWhole() && server.ranges == [nil, "bytes=500000-"])
        gate.open()
    }

    @Test func aRangeIsAskedForWithItsTag() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(500_000) : .whole }
        let file = try await download(server).value
        #expect(isWhole() && file.interruptions == 1 && file.resumedBytes == 0)
        #expect(server.ranges == [nil, "bytes=500000-"])
        #expect(server.server.requests[1]["If-Range"] == "\"v1\"")
        #expect(file.response.status == .partialContent)
    }

    /// A file that has changed is downloaded again, and not joined to the old part.
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

    /// A download fails if the tag changes with every response, because no two parts belong to the same version.
    @Test func aTagThatChangesWithEveryAnswer() async throws {
        let count = Locked(0)
        let server = try LoopbackServer.http { _ in
            let number = count.next()
            return .init(
                headers: [("ETag", "\"v\(number)\"")],
                body: .sized(2_000_000) { body in
                    try body.write(Array(Self.content.prefix(500_000)))
                    body.connection.close()
                })
        }
        var options = DownloadOptions()
        options.maximumFailures = 2
        let error = await fails(.truncatedBody) {
            try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin")), options: options).value
        }
        #expect(error?.description.contains("it began anew too often") == true)
        #expect(folder.data("a.bin") == nil && error?.attemptCount == count.withLock { $0 })
    }

    /// A tag that stays the same for another file is detected through the digest.
    @Test func aTagThatLies() async throws {
        let digest = try #require(MessageDigest(.sha256))
        digest.update(Self.content)
        let checksum = Checksum.sha256(try #require(digest.finish()))
        let tag = (name: "ETag", value: "\"v1\"")
        let server = try FileServer(Self.content) { number, _ in
            guard number > 1 else { return .cut(500_000) }
            let range = (name: "Content-Range", value: "bytes 500000-1999999/2000000")
            return .other(.init(206, headers: [tag, range], body: noise(1_500_000, seed: 8)))
        }
        await fails(.checksumMismatch) {
            try await session.downloadRequest(server.url, to: .file(folder("a.bin")), checksum: checksum).value
        }
        #expect(folder.names == [])
    }

    /// A download without a strong validator cannot be resumed, and starts again.
    @Test(arguments: [nil, "W/\"v1\""])
    func withoutAStrongTagAllComesAgain(_ tag: String?) async throws {
        let server = try FileServer(Self.content, tag: tag) { number, _ in number <= 2 ? .cut(500_000) : .whole }
        _ = try await download(server).value
        #expect(isWhole() && server.ranges == [nil, nil, nil])
    }

    /// A download is given up after two more attempts if no bytes can be kept, and each response starts again.
    @Test func whereNothingCanBeKeptItIsGivenUpSoon() async throws {
        let server = try FileServer(Self.content, tag: nil) { _, _ in .cut(500_000) }
        await fails(.truncatedBody) { try await download(server).value }
        #expect(server.ranges == [nil, nil, nil] && folder.data("a.bin") == nil)
    }

    /// A download is also given up after two more attempts if there is a tag, but the server ignores ranges.
    @Test func whereNoRangesAreServedItIsGivenUpSoon() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\nETag: \"v1\"\r\nConnection: close\r\n\r\n"
        let server = try LoopbackServer.http { _ in
            .init(body: .raw { try $0.write(Array(head.utf8) + Array(Self.content.prefix(500_000))) })
        }
        await fails(.truncatedBody) {
            try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin"))).value
        }
        #expect(server.requests.map { $0["Range"] } == [nil, "bytes=500000-", "bytes=500000-"])
    }

    /// Interruptions are counted up to the maximum, however many bytes arrive each time.
    @Test(arguments: [0, 1, 3], ["\"v1\"", nil]) func interruptionsAreCountedWhereThereIsAMaximum(
        _ maximum: Int, _ tag: String?
    ) async throws {
        let server = try FileServer(Self.content, tag: tag) { _, _ in .cut(100_000) }
        var options = DownloadOptions()
        options.maximumInterruptions = maximum
        await fails(.truncatedBody) { try await download(server, options: options).value }
        #expect(server.ranges.count == maximum + 1)
    }

    /// A wrong response to the request for the rest.
    struct Lie: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: @Sendable () -> LoopbackServer.Response

        init(_ name: String, status: Int = 206, _ headers: [(name: String, value: String)], _ body: Data) {
            testDescription = name
            answer = { .init(status, headers: headers, body: body) }
        }
    }

    private static let tag = (name: "ETag", value: "\"v1\"")

    /// A wrong second response does not spoil the file.
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
        Lie(
            "several parts, and there they are", [tag, ("Content-Type", "multipart/byteranges; boundary=a")],
            Data("--a\r\nContent-Range: bytes 500000-1999999/2000000\r\n\r\n".utf8) + content.dropFirst(500_000)
                + Data("\r\n--a--\r\n".utf8)),
        Lie(
            "a length that is not that of the range",
            [tag, ("Content-Range", "bytes 500000-1999998/2000000")], content.dropFirst(500_000)),
        Lie("416", status: 416, [tag, ("Content-Range", "bytes */2000000")], Data()),
        Lie("416 and no more", status: 416, [], Data()),
        Lie("a part of a part", [tag, ("Content-Range", "bytes 500000-500099/2000000")], content[500_000..<500_100]),
        Lie("all of it", status: 200, [tag], content),
        Lie("not well", status: 503, [], Data("come back".utf8)),
        Lie("slow down", status: 429, [("Retry-After", "3")], Data()),
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

    /// A part that is longer than its range is discarded; its length is known only from its own framing.
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

    /// A status that is final ends the download, and the partial file stays.
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
        // The first interruption does not count, because bytes had arrived before.
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
        await fails(.truncatedBody) { try await session.downloadRequest(request, to: .file(folder("a.bin"))).value }
        #expect(folder.names == [] && server.ranges.count == 1)
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

    /// A body of unknown length is downloaded: its length is known only when it is complete.
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
        let file = try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin"))).value
        #expect(isWhole() && file.size == 2_000_000)
        #expect(
            server.requests.map { $0["Range"] }
                == [nil, "bytes=400000-", "bytes=1300000-", "bytes=2000000-"])
    }
}
