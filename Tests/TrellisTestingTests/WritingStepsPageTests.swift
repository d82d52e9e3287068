import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The output that the page about steps shows is that of its step.
@Suite(.timeLimit(.minutes(3)))
struct WritingStepsPageTests {
    private struct Trace: RequestStep {
        let name: String
        let write: @Sendable (String) -> Void

        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            write("\(name) → \(request.method) \(request.url)")
            let answer = try await next(request)
            write("\(name) ← \(answer.response.status.code) from \(answer.response.url)")
            return answer
        }
    }

    @Test func aStepAroundTheCallAndEachRequestWritesWhatThePageShows() async throws {
        let lines = Locked<[String]>([])
        let write = { @Sendable (line: String) in lines.withLock { $0.append(line) } }
        var configuration = SessionConfiguration()
        configuration.steps.application.append(Trace(name: "application", write: write))
        configuration.steps.network.append(Trace(name: "network", write: write))
        configuration.retry = RetryPolicy(exponentialBackoffScale: .zero)
        let router = MockRouter()
        router.route(.get, "/old").respond(with: MockResponse(status: 302, headers: ["Location": "/new"]))
        router.route(.get, "/new").respond(with: MockResponse(status: 503)).then(.text("hello"))
        let session = Session(configuration: configuration, transport: router)
        #expect(try await session.string("http://shop.example/old") == "hello")
        let page = try String(contentsOfFile: Self.page, encoding: .utf8)
        let shown = page.components(separatedBy: "```text\n").dropFirst().first?.components(separatedBy: "\n```").first
        #expect(lines.withLock { $0 }.joined(separator: "\n") == shown)
    }

    private static let page =
        #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/Trellis/Trellis.docc/WritingSteps.md"
}
