import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Downloads continue where earlier ones ended, and their digests cover the complete file.
@Suite(.timeLimit(.minutes(3)))
struct ResumedDownloadTests: DownloadSuite {
    static let content = noise(2_000_000)
    let folder: Folder
    let session = Session()

    init() throws { folder = try Folder() }

    /// The state on the disk during a download, which a killed process would leave, can be resumed.
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
        let file = try await Session().downloadRequest(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes == Int64(part.count) && grave.data("a.bin") == Self.content)
        #expect(grave.names == ["a.bin"])
        victim.cancel()
        gate.open()
    }

    /// A long part of one version is not used for another version, of which fewer bytes have arrived when the process ends.
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
        let file = try await Session().downloadRequest(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes == 300_000 && grave.data("a.bin") == other)
        victim.cancel()
        gate.open()
    }

    /// The bytes of a resumed download that was killed count too.
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
        let file = try await Session().downloadRequest(server.url, to: .file(grave("a.bin"))).value
        #expect(file.resumedBytes == 1_200_000 && grave.data("a.bin") == Self.content)
        victim.cancel()
        gate.open()
    }

    @Test func inAFolderTheNameIsFoundAgain() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(600_000) : .whole }
        var options = DownloadOptions()
        options.maximumFailures = 0
        await fails(.truncatedBody) {
            try await session.downloadRequest(server.url, to: .directory(folder.path), options: options).value
        }
        let file = try await session.downloadRequest(server.url, to: .directory(folder.path)).value
        #expect(file.resumedBytes == 600_000 && file.path == folder("file.bin"))
        #expect(folder.data("file.bin") == Self.content && folder.names == ["file.bin"])
        #expect(server.ranges == [nil, nil, "bytes=600000-"])
    }

    @Test func resumeDataGoesOnElsewhere() async throws {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .stalled(700_000, gate) : .whole }
        let first = session.downloadRequest(server.url)
        for await progress in first.progress where progress.completedBytes > 0 { break }
        let data = try #require(await first.cancelProducingResumeData())
        await fails(.cancelled) { try await first.value }
        #expect(data.receivedBytes > 0 && data.totalBytes == 2_000_000 && first.state == .cancelled)
        let copy = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
        let second = session.downloadRequest(resuming: copy, to: .file(folder("a.bin")))
        #expect(try await second.value.resumedBytes == data.receivedBytes)
        #expect(isWhole() && !FileManager.default.fileExists(atPath: data.path))
        gate.open()
        // The partial file no longer exists.
        let third = session.downloadRequest(resuming: copy, to: .file(folder("a.bin"), .removePreviousFile))
        #expect(try await third.value.resumedBytes == 0)
    }

    @Test func resumeDataOfAnotherURLIsAnError() async throws {
        let json = #"{"version":1,"url":"http://a.example/b","path":"/nowhere","entityTag":"\"x\"","done":[[0,5]]}"#
        let data = try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8))
        let server = try FileServer(Self.content)
        let error = await fails(.resumeData) {
            try await session.downloadRequest(resuming: data, server.url, to: .file(folder("a.bin"))).value
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

    /// Some servers answer a request for the rest with the status 200. The rest is used, or the file is requested anew: the rest
    /// is never taken for the file.
    @Test(arguments: [true, false], [true, false])
    func theRestThatIsSentAsComplete(_ isNewDownload: Bool, _ hasLength: Bool) async throws {
        let server = try FileServer(Self.content) { number, _ in
            switch number {
            case 1: return .cut(600_000)
            case 2:
                let fields = [("ETag", "\"v1\""), ("Content-Range", "bytes 600000-1999999/2000000")]
                let rest = Data(Self.content.dropFirst(600_000))
                guard !hasLength else { return .other(.init(headers: fields, body: rest)) }
                return .other(.init(headers: fields, body: .chunked { try $0.write(Array(rest)) }))
            default: return .whole
            }
        }
        if isNewDownload {
            var options = DownloadOptions()
            options.maximumFailures = 0
            await fails(.truncatedBody) { try await download(server, options: options).value }
        }
        let file = try await download(server).value
        #expect(isWhole() && file.size == 2_000_000)
        #expect(file.resumedBytes == (isNewDownload && hasLength ? 600_000 : 0))
        #expect(server.ranges == [nil, "bytes=600000-"] + (hasLength ? [] : [nil]))
    }

    // MARK: Checksums

    @Test func aChecksumThatDoesNotFit() async throws {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(600_000) : .whole }
        let checksum = Checksum.sha512(String(repeating: "00", count: 64))
        let error = await fails(.checksumMismatch) {
            try await session.downloadRequest(server.url, to: .file(folder("a.bin")), checksum: checksum).value
        }
        #expect(error?.description.contains("its sha512 is ") == true)
        #expect(folder.names == [])
    }

    @Test func aDigestOfTheServerIsChecked() async throws {
        let wrong = [("Repr-Digest", "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):")]
        let server = try LoopbackServer.http { _ in .init(headers: wrong, body: Self.content) }
        await fails(.checksumMismatch) {
            try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin"))).value
        }
        var options = DownloadOptions()
        options.verifiesDigestFields = false
        _ = try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin")), options: options).value
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
        let file = try await session.downloadRequest(server.url, to: .file(folder("a.bin")), checksum: checksum).value
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
                try await session.downloadRequest(server.url, to: destination, checksum: checksum).value
            }.result
            if case .success = result { #expect(fits) } else { #expect(!fits) }
        }
    }
}
