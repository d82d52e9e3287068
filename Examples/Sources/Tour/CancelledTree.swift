import TerminalKit
import Trellis
import TrellisTesting

/// The part about cancellation: a tree of requests ends with its task, and the server sees their connections close.
struct CancelledTree: Part {
    let title = "A task tree, cancelled half-way"
    private let count = 40

    func run(with guide: Guide, on server: TourServer) async throws {
        let (seen, closed) = (server.loopback.requests.count, server.loopback.closedCount)
        let (answers, hasAnswer) = AsyncStream.makeStream(of: Void.self)
        let tree = Task { try await requestAll(guide.session, server, hasAnswer) }
        // Half of the requests get a response; the others never do.
        try await server.loopback.waitUntilRequested(count: seen + count)
        for await _ in answers.prefix(count / 2) {}
        guide.say("\(count) requests under way; the server leaves half of them without an answer")

        let start = ContinuousClock.now
        tree.cancel()
        let (answered, cancelled) = try await tree.value
        let returned = ContinuousClock.now - start
        try await server.loopback.waitUntilClosed(count: closed + cancelled)
        let elapsed = ContinuousClock.now - start
        try expect(answered == count / 2 && cancelled == count / 2, "\(answered) answered, \(cancelled) cancelled")
        guide.say("\(answered) answered, \(cancelled) cancelled: the tree was gone after \(returned.forPeople),")
        guide.say("and after \(elapsed.forPeople) the server had seen \(cancelled) connections close")
    }

    private func requestAll(
        _ session: Session, _ server: TourServer, _ hasAnswer: AsyncStream<Void>.Continuation
    ) async throws -> (answered: Int, cancelled: Int) {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
                group.addTask {
                    do {
                        _ = try await session.data(server.url(number.isMultiple(of: 2) ? "/users" : "/never"))
                        hasAnswer.yield()
                        return true
                    } catch is CancellationError {
                        return false
                    }
                }
            }
            return try await group.reduce(into: (0, 0)) { if $1 { $0.0 += 1 } else { $0.1 += 1 } }
        }
    }
}
