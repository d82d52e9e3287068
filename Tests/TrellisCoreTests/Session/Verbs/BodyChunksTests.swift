import Foundation
import Testing
import TrellisCore
import TrellisTesting

/// The body of a response that a closure handles has the forms that a stream has.
@Suite(.timeLimit(.minutes(3)))
struct BodyChunksTests {
    @Test func theBodyOfAClosureHasChunks() async throws {
        let session = Session(transport: MockTransport { _ in .text("hello") })
        let text = try await session.withResponse(to: "http://a.example/") { _, body -> String in
            var data = Data()
            for try await chunk in body.chunks { data += chunk }
            return String(decoding: data, as: UTF8.self)
        }
        #expect(text == "hello")
        await session.shutdown()
    }
}
