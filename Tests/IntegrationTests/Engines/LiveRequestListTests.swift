import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// The list of a session's live requests, whose engines change.
@Suite(.timeLimit(.minutes(3)))
struct LiveRequestListTests {
    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    enum Kind: CaseIterable, Sendable { case plain, steps, handle, stream }

    private static func send(_ kind: Kind, _ url: String, _ session: Session) async throws {
        switch kind {
        case .plain: _ = try await session.data(url)
        case .steps: _ = try await session.data(Request(url).withSteps { $0.network = [Passing()] })
        case .handle: _ = try await session.request(url).data()
        case .stream: _ = try await session.stream(url)
        }
    }

    /// One request of a task on the second engine is on the first, where further ones of both tasks wait.
    @Test(arguments: Kind.allCases)
    func everyRequestIsListedOnce(_ kind: Kind) async throws {
        let session = SeveralEnginesTests.session(.fixed(2), perOrigin: 1)
        try await SeveralEnginesTests.elsewhere(session) { url in
            try await Self.send(kind, url, session)
        } _: { task, server in
            var (paths, tasks) = (["/second"], [Task<Void, any Error>]())
            for engine in [0, 1, 0, 1] {
                let path = "/waiting/\(tasks.count)"
                paths.append(path)
                tasks.append(
                    SeveralEnginesTests.onEngine(engine, of: session) {
                        try await Self.send(kind, server.url(path), session)
                    })
                while await session.liveRequests.count < paths.count, !Task.isCancelled { await Task.yield() }
            }
            let live = await session.liveRequests
            #expect(live.map(\.url) == paths.map { server.url($0) })
            #expect(Set(live.map(\.callID)).count == 5)
            await session.cancelAllRequests()
            #expect(await session.liveRequests.isEmpty)
            for task in tasks + [task] { await #expect(throws: TrellisError.self) { try await task.value } }
        }
    }
}
