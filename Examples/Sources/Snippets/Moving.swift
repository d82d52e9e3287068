import Foundation
import Trellis

/// The examples of the pages for those who come from another library.
struct Moving {
    struct User: Codable, Sendable { var name: String }

    let session: Session
    let url: URL
    let token: String
    let user: User

    func get() async throws -> User {
        let user = try await session.decode(
            User.self, from: "https://api.example.com/users/7", timeout: .seconds(30))
        return user
    }

    func getURL() async throws -> User {
        let user = try await session.decode(User.self, from: url)
        return user
    }

    func post() async throws -> (Data, Response) {
        let post = try Request("https://api.example.com/users", method: .post, body: .json(user))
            .withAuthorization(bearerToken: token)
        let (data, response) = try await session.data(post)
        return (data, response)
    }

    func postURL() async throws -> (Data, Response) {
        let post = try Request(url, method: .post, body: .json(user)).withTimeouts(Timeouts(total: .seconds(10)))
        let (data, response) = try await session.data(post)
        return (data, response)
    }

    func stream() async throws -> Int {
        var received = 0
        try await session.withResponse(to: "https://example.com/big") { response, body in
            for try await chunk in body.chunks { received += chunk.count }
        }
        for try await line in try await session.stream(url).validate().lines { print(line) }
        return received
    }

    func send(_ chunks: AsyncStream<Data>) -> Request {
        // An AsyncSequence of Data:
        let upload = Request("https://example.com/log", method: .post, body: .stream(chunks))
        return upload
    }

    func download() async throws {
        let download = session.downloadRequest(url, to: .file("big.iso"))
        for await progress in download.progress { print(progress.fraction ?? 0) }
        let file = try await download.value
        print(file.size)
    }

    func configure() async {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(5))
        configuration.limits.perOrigin = 16
        configuration.redirects = RedirectPolicy(maximumRedirects: 5)
        let session = Session(configuration: configuration)
        await session.shutdown(drainingFor: .seconds(10))
    }

    func curl() async throws {
        let page = Request("https://api.example.com/users", headers: [.accept("application/json")])
            .withAuthorization(username: "ada", password: "secret")
        let users = try await session.decode([User].self, from: page, query: ["page": "2"], timeout: .seconds(5))
        print(users.count)
        print(try session.cURLDescription(of: page))

        let fields = ["name": "Ann", "page": "2"]
        let found = try await session.request("https://example.com/form", method: .post, parameters: fields).data()
        let target = Request("https://example.com/files/report.pdf", method: .put)
        let stored = try await session.upload(fileAt: "report.pdf", to: target)
        let sent = try await session.upload(to: "https://example.com/upload") { form in
            form.append("Report", withName: "title")
            form.append(fileAt: "report.pdf", withName: "file")
        }
        print(found.count, stored.1.status, sent.1.status)

        let file = try await session.download("https://example.com/big.iso", to: .file("big.iso"))
        print(file.size)
    }
}
