import TerminalKit
import Trellis
import TrellisTesting

/// The part about decoding: a response as a value with one line of code, and then many such requests at once.
struct DecodedJSON: Part {
    let title = "Decoded JSON"

    private struct User: Decodable, Equatable {
        let id: Int
        let name: String
    }

    func run(with guide: Guide, on server: TourServer) async throws {
        let users = try await users(guide.session, server)
        guide.say("GET /users: " + users.map(\.name).joined(separator: ", "))

        let (tasks, rounds) = (16, 50)
        let connections = server.loopback.acceptedCount
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for _ in 0..<rounds {
                        let same = try await self.users(guide.session, server)
                        try expect(same == users, "another answer: \(same)")
                    }
                }
            }
            try await group.waitForAll()
        }
        let elapsed = ContinuousClock.now - start
        let rate = Int(Double(tasks * rounds) / elapsed.inSeconds)
        let opened = server.loopback.acceptedCount - connections + 1
        guide.say("\(tasks * rounds) more from \(tasks) tasks: \(rate) requests/s over \(opened) connections")
    }

    private func users(_ session: Session, _ server: TourServer) async throws -> [User] {
        let (data, response) = try await session.data(server.url("/users"))
        try expect(response.status == .ok, "status \(response.status)")
        return try JSONDecoder().decode([User].self, from: data)
    }
}
