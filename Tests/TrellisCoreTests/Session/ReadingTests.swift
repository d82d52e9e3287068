import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// The forms in which a response is read, and the checks of each form.
@Suite(.timeLimit(.minutes(3)))
struct ReadingTests {
    struct User: Codable, Equatable, Sendable { let name: String }

    struct APIProblem: Decodable, Equatable, Sendable { let code: String }

    private struct Refused: Error {}

    private static let ada = #"{"name": "Ada"}"#

    private static func session(
        _ body: String, status: Int = 200, type: String? = "application/json"
    ) -> (Session, MockTransport) {
        let transport = MockTransport { _ in
            var fields: HTTPFields = [:]
            fields[.contentType] = type
            return MockResponse(status: status, headers: fields, body: Data(body.utf8))
        }
        return (Session(transport: transport), transport)
    }

    private static func get(accept: String? = nil) -> Request {
        var request = Request("http://a.example/users/1?token=secret")
        request.headers[.accept] = accept
        return request
    }

    // MARK: One request

    @Test(.trellis(.mock { _ in .json(ReadingTests.ada) }))
    func allReadingsAreOfOneAnswer() async throws {
        let session = try #require(Session.current)
        let request = session.request(Self.get())
        #expect(try await request.validate().decode(User.self) == User(name: "Ada"))
        #expect(try await request.string() == Self.ada)
        #expect(try await request.data() == Data(Self.ada.utf8))
        #expect(try await request.response(of: .data).status == .ok)
        #expect(try await request.response(of: User.self).value == User(name: "Ada"))
        #expect(try await request.response(of: .string).value == Self.ada)
        #expect(try await request.serialize(with: CustomResponseSerializer { _, _, data in data.count }) == 15)
        await #expect(throws: TrellisError.self) { try await request.decode([Int].self) }
        #expect(MockTransport.current?.startedCount == 1)
    }

    @Test func readingsAtTheSameTimeAreOfOneAnswer() async throws {
        let gate = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await gate.opened()
            return .json(Self.ada)
        }
        let request = Session(transport: transport).request(Self.get())
        async let first = request.decode(User.self)
        async let second = request.validate(statusCode: 200...204).string()
        async let third = request.response(of: .data)
        try await transport.waitUntilRequested(count: 1)
        gate.open()
        #expect(try await first == User(name: "Ada"))
        #expect(try await second == Self.ada)
        #expect(try await third.value == Data(Self.ada.utf8))
        #expect(transport.startedCount == 1)
    }

    @Test func theRequestEndsWithTheLastOfItsHandles() async throws {
        let transport = MockTransport { _ in
            try await Task.never()
            return MockResponse()
        }
        let session = Session(transport: transport)
        var first: DataRequest? = session.request(Self.get())
        var second = first?.validate()
        second?.resume()
        try await transport.waitUntilRequested(count: 1)
        first = nil
        await session.settle()
        #expect(transport.cancelledCount == 0)
        second = nil
        try await transport.waitUntilCancelled(count: 1)
        _ = (first, second)
    }

    @Test(
        .trellis(
            .mock { _ in .json(ReadingTests.ada) }, .session { $0.defaultHeaders[.acceptLanguage] = "de" }))
    func everythingIsInTheResponse() async throws {
        let session = try #require(Session.current)
        let response = try await session.request(Self.get(accept: "application/json")).response(of: User.self)
        #expect(response.value == User(name: "Ada"))
        #expect(response.data == Data(Self.ada.utf8))
        #expect(response.request.headers[.acceptLanguage] == "de", "as it was sent")
        #expect(response.request.headers[.accept] == "application/json")
        #expect(response.status == .ok)
        #expect(response.headers[.contentType] == "application/json")
        #expect(response.attemptCount == 1)
        #expect(response.redirects.isEmpty)
        #expect(response.serializationDuration > .zero)
        #expect(response.metrics == response.response.metrics)
    }

    @Test(.trellis(.noNetwork))
    func theHandleShowsTheRequestAsItIsSent() throws {
        let session = try #require(Session.current)
        #expect(try session.request(Self.get()).request.headers[.userAgent] != nil)
        #expect(throws: TrellisError.self) { try session.request("nonsense").request }
    }

    // MARK: Checks

    enum Form: String, CaseIterable, Sendable {
        case data, response, responseOfData, string, decoding, orError, responseOfType, custom, sessionDecode
        case sessionString

        /// Whether the form validates, as in the table of the article on validation.
        var validates: Bool { self != .data && self != .response && self != .responseOfData }

        func read(_ request: DataRequest, _ session: Session, _ plain: Request) async throws {
            switch self {
            case .data: _ = try await request.data()
            case .response: _ = try await request.data()
            case .responseOfData: _ = try await request.response(of: .data)
            case .string: _ = try await request.string()
            case .decoding: _ = try await request.decode(User.self)
            case .orError: _ = try await request.decode(User.self, orError: APIProblem.self)
            case .responseOfType: _ = try await request.response(of: User.self)
            case .custom: _ = try await request.serialize(with: CustomResponseSerializer { _, _, _ in 1 })
            case .sessionDecode: _ = try await session.decode(User.self, from: plain)
            case .sessionString: _ = try await session.string(plain)
            }
        }

        func kind(_ request: DataRequest, _ session: Session, _ plain: Request) async -> TrellisError.Kind? {
            do {
                try await read(request, session, plain)
                return nil
            } catch {
                return (error as? TrellisError)?.kind ?? .other
            }
        }
    }

    @Test(arguments: Form.allCases)
    func whoInterpretsTheBodyWantsTheOneThatWasAskedFor(_ form: Form) async {
        let (notFound, _) = Self.session(Self.ada, status: 404)
        #expect(
            await form.kind(notFound.request(Self.get()), notFound, Self.get())
                == (form.validates ? .unacceptableStatus : nil))
        let (page, _) = Self.session(Self.ada, type: "text/html")
        let request = Self.get(accept: "application/json")
        #expect(
            await form.kind(page.request(request), page, request) == (form.validates ? .unacceptableContentType : nil))
        let (fine, _) = Self.session(Self.ada)
        #expect(await form.kind(fine.request(request), fine, request) == nil)
    }

    @Test(arguments: Form.allCases.filter { !$0.rawValue.hasPrefix("session") })
    func whatIsSaidHoldsForEveryForm(_ form: Form) async {
        let (notFound, _) = Self.session(Self.ada, status: 404)
        let request = notFound.request(Self.get())
        let kinds = await [
            form.kind(request.validate(), notFound, Self.get()),
            form.kind(request.validate(statusCode: 200..<300), notFound, Self.get()),
            form.kind(request.validate(statusCode: [404]), notFound, Self.get()),
            form.kind(request.validate(statusCode: 400...499), notFound, Self.get()),
            form.kind(request.validate(statusCode: [404]).validate(contentType: ["image/*"]), notFound, Self.get()),
            form.kind(
                request.validate { _, _, _ in throw Refused() }.validate(statusCode: [404]), notFound, Self.get()),
            form.kind(request.withoutValidation(), notFound, Self.get()),
            form.kind(request.validate().withoutValidation(), notFound, Self.get()),
        ]
        #expect(
            kinds == [
                .unacceptableStatus, .unacceptableStatus, nil, nil, .unacceptableContentType, .other, nil, nil,
            ])
    }

    @Test(
        .trellis(
            .mock { _ in
                MockResponse(status: 404, headers: [.contentType: "text/plain"], body: Data("Nobody here.".utf8))
            }))
    func theErrorHasResponseAndBodyAndNoSecrets() async throws {
        let session = try #require(Session.current)
        let error = try #require(
            await #expect(throws: TrellisError.self) { try await session.decode(User.self, from: Self.get()) })
        #expect(error.response?.status == .notFound)
        #expect(error.response?.headers[.contentType] == "text/plain")
        #expect(error.bodyExcerpt?.text == "Nobody here.")
        #expect(error.attemptCount == 1)
        #expect(
            error.description
                == "GET http://a.example/users/1?token=REDACTED: the status 404 (Not Found) is not accepted; "
                + "the body: Nobody here.")
    }

    // MARK: Errors of the server

    @Test(.trellis(.mock { _ in .json(#"{"code": "locked"}"#, status: 423) }))
    func theServersErrorIsCaughtByItsType() async throws {
        let session = try #require(Session.current)
        let request = session.request(Self.get())
        let error = try #require(
            await #expect(throws: ErrorResponse<APIProblem>.self) {
                try await request.decode(User.self, orError: APIProblem.self)
            })
        #expect(error.body == APIProblem(code: "locked"))
        #expect(error.response.status.code == 423)
        #expect(error.error.kind == .unacceptableStatus)
        #expect(error.description == error.error.description)
        await #expect(throws: ErrorResponse<APIProblem>.self) {
            try await session.decode(User.self, from: Self.get(), orError: APIProblem.self)
        }
        #expect(MockTransport.current?.startedCount == 2)
    }

    @Test func problemDetailsAreBuiltIn() async throws {
        let (session, _) = Self.session(
            #"{"title": "Too poor", "detail": "30 are not 50", "balance": 30}"#, status: 403,
            type: "application/problem+json")
        let error = try #require(
            await #expect(throws: ErrorResponse<ProblemDetails>.self) {
                try await session.request(Self.get(accept: "application/json"))
                    .decode(User.self, orError: ProblemDetails.self)
            })
        #expect(error.body.title == "Too poor")
        #expect(error.body.extensions["balance"]?.integerValue == 30)
        #expect(
            error.description
                == "GET http://a.example/users/1?token=REDACTED: the status 403 (Forbidden) is not accepted: "
                + "Too poor: 30 are not 50")
    }

    @Test(arguments: [
        ("<h1>Bad gateway</h1>", 502, TrellisError.Kind.unacceptableStatus), ("", 500, .unacceptableStatus),
        (#"{"other": 1}"#, 500, .unacceptableStatus), (#"{"code": "x"}"#, 200, .serialization),
    ])
    func whatIsNoSuchErrorIsAPlainOne(_ body: String, _ status: Int, _ kind: TrellisError.Kind) async {
        let (session, _) = Self.session(body, status: status)
        let error = await #expect(throws: TrellisError.self) {
            try await session.request(Self.get()).decode(User.self, orError: APIProblem.self)
        }
        #expect(error?.kind == kind)
    }

    @Test(.trellis(.mock { _ in .json(ReadingTests.ada) }))
    func theTypeOfTheValueMayFollowFromItsUse() async throws {
        let session = try #require(Session.current)
        let user: User = try await session.request(Self.get()).decode()
        let other: User = try await session.request(Self.get()).decode(orError: ProblemDetails.self)
        let third: User = try await session.decode(from: Self.get())
        #expect(user == other && other == third)
    }
}

extension Task where Success == Never, Failure == Never {
    /// Waits until the task is cancelled, and throws.
    static func never() async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        for await _ in stream {}
        _ = continuation
        try checkCancellation()
    }
}
