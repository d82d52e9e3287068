import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// A response that was received without checks is checked afterwards, by the rules and with the errors of a handle.
@Suite(.timeLimit(.minutes(3)))
struct ResponseValidationTests {
    private static func session(
        _ status: Int, _ type: String? = "text/plain", accept: String? = nil, body: String = "no such user"
    ) -> Session {
        var configuration = SessionConfiguration()
        if let accept { configuration.defaultHeaders[.accept] = accept }
        return Session(
            configuration: configuration,
            transport: MockTransport { _ in
                var fields = HTTPFields()
                if let type { fields[.contentType] = type }
                return MockResponse(status: status, headers: fields, body: Data(body.utf8))
            })
    }

    @Test(
        arguments: [
            (404, "text/plain", nil), (500, "text/plain", "application/json"), (200, "text/html", "application/json"),
        ] as [(Int, String, String?)])
    func theErrorIsThatOfAHandle(_ status: Int, _ type: String, _ accept: String?) async throws {
        let session = Self.session(status, type, accept: accept)
        let request = Request("http://a.example/users/7?token=secret")
        let (data, response) = try await session.data(request)
        let expected = await #expect(throws: TrellisError.self) { try await session.request(request).validate().data() }
        let error = #expect(throws: TrellisError.self) { try response.validate(body: data) }
        #expect(error?.description == expected?.description)
        #expect(error?.kind == expected?.kind)
        #expect(error?.phase == .received)
        #expect(error?.method == .get)
        #expect(error?.response?.status.code == status)
        #expect(error?.bodyExcerpt?.text == "no such user")
        #expect(error?.callID == response.callID)
    }

    @Test func withoutABodyTheErrorHasNoExcerpt() async throws {
        let (_, response) = try await Self.session(404).data("http://a.example/x")
        let error = #expect(throws: TrellisError.self) { try response.validate() }
        #expect(error?.bodyExcerpt == nil)
        #expect(error?.phase == .received)
        #expect("\(try #require(error))".contains("GET http://a.example/x"))
    }

    @Test(arguments: [(199, false), (200, true), (299, true), (300, false)])
    func successIsAStatusOf200To299(_ status: Int, _ isSuccess: Bool) {
        let response = Response(head: ResponseHead(status: .init(code: status)), url: "http://a.example/")
        #expect(response.isSuccess == isSuccess)
    }

    @Test func acceptedStatusesAreAnArgument() async throws {
        let (data, response) = try await Self.session(404).data("http://a.example/x")
        #expect(try response.validate(statusCode: [200, 404]).status.code == 404)
        try response.validate(statusCode: 200..<500, body: data)
        try response.validate(statusCode: ..<405)
        try response.validate(statusCode: 400...)
        let error = #expect(throws: TrellisError.self) { try response.validate(statusCode: 200..<300, body: data) }
        #expect(error?.kind == .unacceptableStatus)
        #expect(error?.bodyExcerpt?.text == "no such user")
    }

    @Test func anEmptyBodyNeedsNoContentType() async throws {
        let session = Self.session(200, nil, accept: "application/json", body: "")
        let (data, response) = try await session.data("http://a.example/x")
        try response.validate(body: data)
    }

    @Test func theAcceptOfTheRequestDecidesBeforeTheSessions() async throws {
        let session = Self.session(200, "text/html", accept: "application/json")
        let (data, response) = try await session.data("http://a.example/x", headers: [.accept: "text/*"])
        try response.validate(body: data)
    }

    // MARK: Value and head

    private struct User: Codable, Hashable { let name: String }
    private struct Problem: Codable, Hashable { let code: String }

    private static func answering(_ status: Int, _ json: String) -> Session {
        Session(
            transport: MockTransport { _ in
                MockResponse(
                    status: status, headers: [.contentType: "application/json", .eTag: "\"1\""], body: Data(json.utf8))
            })
    }

    @Test func aValueComesWithItsHead() async throws {
        let session = Self.answering(200, #"{"name":"Ann"}"#)
        let response = try await session.response(User.self, from: "http://a.example/users/7")
        #expect(response.value == User(name: "Ann"))
        #expect(response.headers[.eTag] == "\"1\"")
        #expect(response.status == .ok)
        #expect(response.request.url == "http://a.example/users/7")
        #expect(response.data == Data(#"{"name":"Ann"}"#.utf8))
    }

    @Test func aStatusThatIsNotAcceptedIsAnError() async throws {
        let session = Self.answering(404, #"{"name":"Ann"}"#)
        let error = await #expect(throws: TrellisError.self) {
            try await session.response(User.self, from: "http://a.example/users/7")
        }
        #expect(error?.kind == .unacceptableStatus)
    }

    @Test func theServersOwnErrorComesInsteadOfAValue() async throws {
        let session = Self.answering(409, #"{"code":"locked"}"#)
        let error = await #expect(throws: ErrorResponse<Problem>.self) {
            try await session.response(User.self, from: "http://a.example/users/7", orError: Problem.self)
        }
        #expect(error?.body == Problem(code: "locked"))
        let other = await #expect(throws: ErrorResponse<Problem>.self) {
            try await session.request("http://a.example/users/7").response(of: User.self, orError: Problem.self)
        }
        #expect(other?.response.headers[.eTag] == "\"1\"")
    }
}
