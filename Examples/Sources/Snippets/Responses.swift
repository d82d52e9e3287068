import Foundation
import Trellis

/// The code of the article.
struct ResponsesPage {
    struct User: Decodable, Sendable { var name: String }
    struct APIProblem: Decodable, Sendable { var message: String }

    func readResponses(_ session: Session) async throws {
        let url = "https://api.example.com/users/7"

        let user = try await session.decode(User.self, from: url)  // a 404 is an error
        let page = try await session.response(User.self, from: url)  // the same, with the head
        print(user.name, page.value.name, page.headers["ETag"] ?? "no tag")

        let (data, response) = try await session.data(url)  // a 404 is a response
        guard response.isSuccess else { return print(response.status, data.count) }
        try response.validate(body: data)  // or let it throw
        try response.validate(statusCode: [200, 404], body: data)
    }

    func nameConditions(_ session: Session, _ isIntact: @escaping @Sendable (Data?) async -> Bool) async throws {
        struct Corrupted: Error {}
        let request = session.request("https://api.example.com/users/1")

        let checked = request.validate()  // status 200 to 299, type as in Accept
        let found = request.validate(statusCode: 200..<400)
        let known = request.validate(statusCode: [200, 404])
        let typed = request.validate(contentType: ["application/json", "image/*"])
        let intact = request.validate { request, response, body in
            guard await isIntact(body) else { throw Corrupted() }
        }
        for handle in [checked, found, known, typed, intact] { print(try await handle.string()) }
    }

    func readProblem(_ session: Session, _ url: String) async throws -> User? {
        do {
            return try await session.decode(User.self, from: url, orError: APIProblem.self)
        } catch let error as ErrorResponse<APIProblem> {
            print(error.response.status, error.body.message)
            return nil
        }
    }

    func readPages(_ session: Session) async throws {
        for try await users in session.pages(of: [User].self, from: "https://api.example.com/users") {
            print(users.count)
        }
        let (_, response) = try await session.data("https://api.example.com/users")
        if let last = response.links["last"] { print(last.url) }
    }
}
