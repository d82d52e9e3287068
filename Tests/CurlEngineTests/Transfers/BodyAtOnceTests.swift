import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The source may deliver the next chunk during the call that requests it.
@Suite(.timeLimit(.minutes(3)))
struct BodyAtOnceTests {
    @Test(arguments: [8, nil])
    func aChunkThatComesInsideTheQuestionIsSent(_ length: Int64?) async throws {
        let server = try LoopbackServer.http { .text(String(decoding: $0.body, as: UTF8.self)) }
        let run = EngineRun()
        let options = TransferOptions(
            url: try WireURL(parsing: server.url()), method: "PUT", body: .stream(length: length), version: .http1)
        #expect(await run.perform(options).text == "streamed")
        await run.finish()
    }
}
