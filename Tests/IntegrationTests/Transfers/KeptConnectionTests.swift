import Foundation
import Testing
import Trellis
import TrellisTesting

/// Large bodies one after the other on the same few connections, for readers who are slower than the server.
@Suite(.timeLimit(.minutes(2)))
struct KeptConnectionTests {
    private static let content = noise(3 << 20)

    /// A transfer that takes a kept connection, and is paused and let go on before libcurl has said which, is not taken for an
    /// idle connection on which bytes come that nobody has asked for.
    @Test func everyByteArrives() async throws {
        let server = try LoopbackServer.http { _ in .init(body: .bytes(Self.content)) }
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = 4
        let session = Session(configuration: configuration)
        let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for _ in 0..<40 where try await Self.read(server.url(), session) != Self.content { wrong += 1 }
                    return wrong
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect(server.acceptedCount == 4)
        await session.shutdown()
    }

    private static func read(_ url: String, _ session: Session) async throws -> Data {
        var body = Data()
        for try await chunk in try await session.stream(url).chunks {
            body.append(chunk)
            await Task.yield()
        }
        return body
    }
}
