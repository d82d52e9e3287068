import Foundation
import Testing
import Trellis

@testable import TrellisTesting

/// The recording of one file by several transports, its end, and the command that begins it.
@Suite(.timeLimit(.minutes(3)))
struct CassetteRecordingTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    /// Returns a transport that records the paths of requests.
    private func recorder(_ mode: CassetteMode) -> CassetteTransport {
        CassetteTransport(folder.cassette(mode), upstream: MockTransport { request in .text(request.path) })
    }

    private func send(_ paths: String..., by transport: CassetteTransport) async throws {
        let session = Session(transport: transport)
        for path in paths { #expect(try await session.string("http://a.example\(path)") == path) }
    }

    private func recorded() throws -> [HARDocument.Entry] { try HARDocument(json: Data(folder.text().utf8)).entries }

    private func urls() throws -> [String] { try recorded().map { $0.request.url } }

    // MARK: Several transports

    /// The cases of a test, and the tests of a suite, have transports of their own, which do not replace the recordings of each other.
    @Test(arguments: [CassetteMode.once, .new, .all])
    func laterTransportsOfAProcessAddToTheFile(_ mode: CassetteMode) async throws {
        if mode == .all {
            // The file of an earlier run is replaced.
            let before = CassetteTransport(
                Cassette(path: folder.path("before"), mode: .once), upstream: MockTransport { _ in .text("/0") })
            try await send("/0", by: before)
            try folder.write(folder.text("before"))
        }
        for number in 1...3 {
            let transport = recorder(mode)
            try await send("/\(number)", by: transport)
            try await transport.finish()
        }
        #expect(try urls() == (1...3).map { "http://a.example/\($0)" })
        let replay = CassetteTransport(folder.cassette(.none))
        try await send("/1", "/2", "/3", by: replay)
        #expect(try await replay.unusedRecordings() == [])
    }

    /// A transport that was made before another one has recorded, or that has ended before, keeps the recordings of the other one.
    @Test(arguments: [CassetteMode.once, .new, .all])
    func transportsTakeTurns(_ mode: CassetteMode) async throws {
        let (first, second) = (recorder(mode), recorder(mode))
        // Both have read the file, which does not exist.
        for transport in [first, second] { #expect(try await transport.unusedRecordings() == []) }
        for (number, transport) in [(1, first), (2, second), (3, first), (4, second)] {
            try await send("/\(number)", by: transport)
            try await transport.finish()
        }
        #expect(try urls() == (1...4).map { "http://a.example/\($0)" })
    }

    // MARK: The end

    /// The end of a transport waits until the beginning of a body is recorded whose reader has left, or does not read on.
    @Test(arguments: [true, false])
    func theEndRecordsWhatWasRead(_ readerLeaves: Bool) async throws {
        let never = LoopbackServer.Gate()
        let transport = CassetteTransport(
            folder.cassette(.once),
            upstream: MockTransport { _ in
                MockResponse { body in
                    try await body.write("one")
                    try await never.opened()
                }
            })
        let session = Session(transport: transport)
        var iterator: ResponseBody.Iterator?
        if readerLeaves {
            for try await _ in try await session.stream("http://a.example/").chunks { break }
        } else {
            iterator = try await session.stream("http://a.example/").chunks.makeAsyncIterator()
            let read = try await iterator?.next()
            #expect(read == Data("one".utf8))
        }
        try await transport.finish()
        let entry = try #require(try recorded().first)
        #expect(entry.replay?.isCut == true && entry.response.content.text == "one")
        withExtendedLifetime(iterator) {}
    }

    // MARK: The command

    @Test func theCommandIsThatOfTheTests() {
        let command = "TRELLIS_CASSETTES=once swift test"
        #expect(Cassette("a", filePath: "/t/UserTests.swift").command(.once) == "\(command) --filter UserTests")
        #expect(Cassette("a", filePath: "/t/UserTests+Admin.swift").command(.once) == "\(command) --filter UserTests")
        #expect(Cassette("a", filePath: "/t/main").command(.once) == command)
    }

    /// The environment variable has no effect on a cassette whose mode was given.
    @Test func theCommandTellsThatAModeIsInTheWay() {
        let remark =
            "\n(first remove the mode of the cassette from the test: TRELLIS_CASSETTES has no effect beside it)"
        for mode in [CassetteMode.none, .once] {
            let cassette = Cassette("a", mode: mode, filePath: "/t/UserTests.swift")
            #expect(cassette.command(.all).hasSuffix("UserTests\(remark)"))
        }
        var cassette = Cassette("a", filePath: "/t/UserTests.swift")
        cassette.mode = .none
        #expect(cassette.command(.once).hasSuffix("UserTests\(remark)"))
    }
}
