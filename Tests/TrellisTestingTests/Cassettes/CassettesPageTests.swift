import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

private struct User: Decodable, Sendable { var name: String }

/// A client whose transport tests can replace, as on the page Testing.
private struct Client: Sendable {
    let session: Session

    init(baseURL: String = "https://api.example.com/v2/", transport: (any Transport)? = nil) {
        var configuration = SessionConfiguration()
        configuration.baseURL = baseURL
        session = Session(configuration: configuration, transport: transport)
    }

    func user(_ id: Int) async throws -> User { try await session.decode(User.self, from: "users/\(id)") }
}

/// The tests that the page Cassettes shows, first with a server and then without one. The cassettes are in a temporary folder.
@Suite(.timeLimit(.minutes(3)))
struct CassettesPageTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    /// Returns the cassette of a test whose file is in the temporary folder.
    private func cassette(_ name: String, _ mode: CassetteMode) -> Cassette {
        Cassette(name, mode: mode, filePath: folder.path("UserTests").replacing(".har", with: ".swift"))
    }

    @Test func aUserIsRead() async throws {
        for mode in [CassetteMode.once, .none] {
            let transport = CassetteTransport(
                cassette("users", mode),
                upstream: mode == .none ? nil : MockTransport { _ in .json(#"{"name":"Ada"}"#) })
            let client = Client(transport: transport)
            #expect(try await client.user(7).name == "Ada")
            #expect(try await transport.unusedRecordings() == [])
            guard mode == .none else { continue }
            let error = await #expect(throws: TrellisError.self) { try await client.user(8) }
            #expect(error?.description.contains(#"path: recorded "/v2/users/7", asked "/v2/users/8""#) == true)
            #expect(error?.description.contains("TRELLIS_CASSETTES=all swift test --filter UserTests") == true)
        }
    }

    @Test(arguments: ["acct-123", "any-other"])
    func anInvoiceIsRead(_ account: String) async throws {
        for mode in [CassetteMode.once, .none] {
            // The recording is that of one account, and the replay may be that of another.
            let account = mode == .once ? "acct-123" : account
            var cassette = cassette("invoice", mode)
            cassette.scrubbers += [.header("X-Tenant"), .json("customer.email")]
            cassette.scrubbers.append(.text(account, replacement: "ACCOUNT"))
            cassette.matching.body = true
            let upstream = MockTransport { request in
                .json(#"{"total":12,"customer":{"email":"ann@a.example"},"self":"\#(request.path)"}"#)
            }
            let session = Session(
                transport: CassetteTransport(cassette, upstream: mode == .none ? nil : upstream))
            let invoice = try await session.string("https://api.example.com/\(account)/invoices/1")
            #expect(invoice.contains("total"))
            guard mode == .none else { continue }
            #expect(invoice == #"{"total":12,"customer":{"email":"REDACTED"},"self":"/ACCOUNT/invoices/1"}"#)
        }
    }

    /// The lines of the page that the tests have with other cassettes and another transport.
    private func shownLines(_ account: String) async throws {
        let transport = CassetteTransport(Cassette("users"))
        var cassette = Cassette("invoice")
        cassette.scrubbers += [.header("X-Tenant"), .json("customer.email")]
        cassette.scrubbers.append(.text(account, replacement: "ACCOUNT"))
        let session = Session(transport: CassetteTransport(cassette))
        print(transport, session)
    }

    private func shownRecording() async throws {
        let recorder = HARRecorder(file: "run.har", bodyLimit: 1 << 20)
        var configuration = SessionConfiguration()
        configuration.record(into: recorder)
        let session = Session(configuration: configuration)
        _ = try await session.data("https://api.example.com/")
        await session.shutdown()
        try await recorder.finish()
    }

    @Test func aSessionIsRecorded() async throws {
        let path = folder.path("run")
        let recorder = HARRecorder(file: path, bodyLimit: 1 << 20)
        var configuration = SessionConfiguration()
        configuration.record(into: recorder)
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        _ = try await session.string("https://api.example.com/")
        await session.shutdown()
        try await recorder.finish()
        let document = try HARDocument(json: Data(folder.text("run").utf8))
        #expect(document.entries.map(\.response.content.text) == ["hello"])
        // The recording of a session can be replayed.
        let replay = Session(transport: CassetteTransport(Cassette(path: path, mode: .none)))
        #expect(try await replay.string("https://api.example.com/") == "hello")
    }
}
