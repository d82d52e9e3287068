import Trellis

/// The example of the page about the framework, whose type has a name that other pages use too.
struct FrameworkPage {
    struct User: Decodable, Sendable { var name: String }

    func sendRequests() async throws {
        let session = Session()
        // A 404 page is an error, and no user.
        let user = try await session.decode(User.self, from: "https://api.example.com/users/7")
        print(user.name)
        for try await line in try await session.stream("https://example.com/log").validate().lines { print(line) }
        let file = try await session.download("https://example.com/big.iso", to: .file("big.iso"))
        print(file.path, file.size)
    }
}
