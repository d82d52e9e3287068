import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The challenges that digest authentication answers, and the origins.
@Suite(.timeLimit(.minutes(3)))
struct DigestAuthenticationTests {
    /// A server that sends the responses of a script, repeats the last one, and records the requests.
    struct World: Sendable {
        let transport: MockTransport
        let session: Session

        init(
            _ answers: [MockResponse], origin: String? = nil, baseURL: String? = nil,
            _ change: (inout SessionConfiguration) -> Void = { _ in }
        ) {
            transport = MockTransport(responses: answers)
            let numbers = Locked(0)
            let digest = DigestAuthentication("Mufasa", "Circle of Life", origin: origin) {
                numbers.withLock { number in
                    number += 1
                    return "client-\(number)"
                }
            }
            var configuration = SessionConfiguration()
            configuration.steps.network.append(digest)
            configuration.baseURL = baseURL
            change(&configuration)
            session = Session(configuration: configuration, transport: transport)
        }

        /// Returns the parameter's value in each request, `-` without an Authorization field.
        func sent(_ name: String) -> [String] {
            transport.requests.map { request in
                guard let field = request.request.headers[.authorization] else { return "-" }
                return AuthenticationChallenge.parse(field).first?.parameters[name] ?? "?"
            }
        }
    }

    static func challenge(_ nonce: String, _ more: String = "") -> MockResponse {
        MockResponse(
            status: 401,
            headers: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\"\(more)"],
            body: Data("no".utf8))
    }

    @Test func aChallengeIsAnsweredAndThenRequestsAreSentWithAnAnswer() async throws {
        let world = World([Self.challenge("1"), .text("yes")])
        #expect(try await world.session.data("http://a.example/x?y=z").1.status == .ok)
        #expect(try await world.session.data("http://a.example").1.status == .ok)
        #expect(world.sent("nonce") == ["-", "1", "1"])
        #expect(world.sent("nc") == ["-", "00000001", "00000002"])
        #expect(world.sent("uri") == ["-", "/x?y=z", "/"])
        #expect(world.sent("cnonce") == ["-", "client-1", "client-1"])
    }

    /// The answer to a challenge carries the cookie of the challenge: servers tie their nonces to a session.
    @Test func theCookieOfAChallengeComesBackWithTheAnswer() async throws {
        var challenge = Self.challenge("1")
        var fields = challenge.head.headers
        fields[.setCookie] = "session=1"
        challenge.head = ResponseHead(status: .unauthorized, headers: fields)
        let world = World([challenge, .text("yes")]) { $0.steps.cookies = CookieJar() }
        let request = Request("http://a.example/", headers: [.cookie: "own=0"])
        #expect(try await world.session.data(request).1.status == .ok)
        #expect(world.sent("nonce") == ["-", "1"])
        #expect(world.transport.requests.map { $0.request.headers[.cookie] } == ["own=0", "own=0; session=1"])
    }

    @Test func aWrongPasswordIsTriedOnce() async throws {
        let world = World([Self.challenge("1"), Self.challenge("2"), Self.challenge("3")])
        let (data, response) = try await world.session.data("http://a.example/")
        #expect(response.status.code == 401)
        #expect(String(decoding: data, as: UTF8.self) == "no")
        #expect(world.sent("nonce") == ["-", "1"])
    }

    @Test func aNonceThatIsOutOfDateIsReplaced() async throws {
        let world = World([Self.challenge("1"), Self.challenge("2", ", stale=true"), .text("yes")])
        #expect(try await world.session.data("http://a.example/").1.status == .ok)
        #expect(world.sent("nonce") == ["-", "1", "2"])
        #expect(world.sent("nc") == ["-", "00000001", "00000001"])
    }

    @Test func aServerForWhichEveryNonceIsOutOfDateIsGivenUp() async throws {
        let world = World([
            Self.challenge("1"), Self.challenge("2", ", stale=true"), Self.challenge("3", ", stale=true"),
        ])
        #expect(try await world.session.data("http://a.example/").1.status.code == 401)
        #expect(world.sent("nonce") == ["-", "1", "2"])
    }

    @Test func theSameNonceOnceMoreIsNotAnswered() async throws {
        let world = World([Self.challenge("1"), Self.challenge("1", ", stale=true")])
        #expect(try await world.session.data("http://a.example/").1.status.code == 401)
        #expect(world.sent("nonce") == ["-", "1"])
    }

    /// A preemptive answer that is refused is repeated with the new nonce: a restarted server knows no nonce, and cannot tell
    /// that the nonce was its own.
    @Test func anAnswerAheadThatIsRefusedIsGivenAgain() async throws {
        let world = World([Self.challenge("1"), .text("yes"), Self.challenge("2"), .text("yes")])
        for _ in 0..<2 { #expect(try await world.session.data("http://a.example/").1.status == .ok) }
        #expect(world.sent("nonce") == ["-", "1", "1", "2"])
    }

    @Test func theServersNextNonceIsUsed() async throws {
        var yes = MockResponse(status: 200)
        let name = try #require(HTTPField.Name("Authentication-Info"))
        yes.head = ResponseHead(status: .ok, headers: [name: "rspauth=\"x\", nextnonce=\"next\""])
        let world = World([Self.challenge("1"), yes])
        for _ in 0..<3 { _ = try await world.session.data("http://a.example/") }
        #expect(world.sent("nonce") == ["-", "1", "next", "next"])
        #expect(world.sent("nc") == ["-", "00000001", "00000001", "00000002"])
    }

    @Test func otherOriginsAreNotAnswered() async throws {
        let world = World([Self.challenge("1"), .text("yes")], origin: "http://a.example")
        #expect(try await world.session.data("http://a.example:8080/").1.status.code == 401)
        #expect(try await world.session.data("http://b.example/").1.status == .ok)
        #expect(world.sent("nonce") == ["-", "-"])
    }

    @Test func anOriginAfterARedirectIsNotAnswered() async throws {
        let digest = DigestAuthentication(username: "a", password: "b")
        for (from, isAnswered) in [("http://a.example/", false), ("http://b.example/x", true)] {
            let redirect = Redirect(status: .found, from: from, to: "http://b.example/")
            let context = CallContext.test(redirects: [redirect])
            let sent = Locked(0)
            let next = NextStep { request in
                sent.withLock { $0 += 1 }
                let fields: HTTPFields = [.wwwAuthenticate: "Digest realm=r, nonce=n"]
                return StepResponse(to: request, status: .unauthorized, headers: fields)
            }
            _ = try await digest.send(Request("http://b.example/"), context: context, next: next)
            #expect((sent.withLock { $0 } == 2) == isAnswered)
        }
    }

    @Test func aRequestWithCredentialsOfItsOwnKeepsThem() async throws {
        let world = World([Self.challenge("1")])
        let request = Request("http://a.example/").withAuthorization(bearerToken: "own")
        #expect(try await world.session.data(request).1.status.code == 401)
        #expect(try await world.session.data("http://user:password@a.example/").1.status.code == 401)
        #expect(world.transport.startedCount == 2)
    }

    @Test func aRelativeURLIsAnsweredAheadOnceItsOriginIsKnown() async throws {
        let world = World(
            [Self.challenge("1"), .text("yes"), .text("yes")], baseURL: "http://a.example/base/")
        for _ in 0..<2 { #expect(try await world.session.data("path").1.status == .ok) }
        #expect(world.sent("uri") == ["-", "/base/path", "/base/path"])
    }

    @Test func aBodyThatCannotBeSentAgainSaysSo() async throws {
        let world = World([Self.challenge("1")])
        let chunks = AsyncStream<Data> { $0.finish() }
        let request = Request("http://a.example/", method: .put, body: .stream(chunks))
        let error = await #expect(throws: TrellisError.self) { try await world.session.data(request) }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(error?.response?.status.code == 401)
    }

    @Test func aStreamIsAnsweredBeforeItsHeadIsHandedOn() async throws {
        let world = World([Self.challenge("1"), .text("yes")])
        var body = Data()
        for try await chunk in try await world.session.stream("http://a.example/").chunks { body += chunk }
        #expect(String(decoding: body, as: UTF8.self) == "yes")
        try await world.transport.waitUntilIdle()
    }

    @Test func noCountIsUsedTwice() async throws {
        let world = World([Self.challenge("1"), .text("yes")])
        _ = try await world.session.data("http://a.example/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await world.session.data("http://a.example/") } }
            try await group.waitForAll()
        }
        #expect(Set(world.sent("nc")).count == 52)
    }

    /// The body is protected where the server requires it: an empty body, bytes, and a body that is made while it is sent.
    @Test(arguments: [nil, RequestBody.data(Data("abc".utf8)), .stream { AsyncStream<Data>.abc }])
    func aBodyIsProtectedWhereTheServerInsists(_ body: RequestBody?) async throws {
        let world = World([
            MockResponse(
                status: 401, headers: [.wwwAuthenticate: "Digest realm=r, nonce=n, qop=auth-int, algorithm=MD5"]),
            .text("yes"),
        ])
        let request = Request("http://a.example/", method: .post, body: body)
        #expect(try await world.session.data(request).1.status == .ok)
        let hash = body == nil ? "d41d8cd98f00b204e9800998ecf8427e" : "900150983cd24fb0d6963f7d28e17f72"
        func md5(_ text: String) -> String { MessageDigest.hash(text, .md5) ?? "" }
        let expected = md5("\(md5("Mufasa:r:Circle of Life")):n:00000001:client-1:auth-int:\(md5("POST:/:\(hash)"))")
        #expect(world.sent("response") == ["-", expected])
        #expect(world.sent("qop") == ["-", "auth-int"])
    }

    @Test func aBodyWhoseBytesAreNotKnownIsNotProtected() async throws {
        let world = World([
            MockResponse(status: 401, headers: [.wwwAuthenticate: "Digest realm=r, nonce=n, qop=auth-int"])
        ])
        var request = Request("http://a.example/", method: .post, body: .string("text"))
        request.compression = .gzip
        #expect(try await world.session.data(request).1.status.code == 401)
        #expect(world.transport.startedCount == 1)
    }

    /// An origin that is forgotten could be asked for the password in clear.
    @Test func theLeastRecentlyUsedOriginIsForgotten() async throws {
        let challenges = AuthenticationChallenge.parse("Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")
        let challenge = try #require(challenges.first.flatMap { DigestChallenge($0) })
        let cache = DigestSessionCache { "client" }
        for number in 0..<256 { _ = await cache.answer(challenge, for: "\(number)", hasFinalURLs: true) }
        _ = await cache.next(for: "0")
        _ = await cache.answer(challenge, for: "new", hasFinalURLs: true)
        for (origin, isKnown) in [("0", true), ("1", false), ("2", true), ("255", true), ("new", true)] {
            #expect(await cache.knows(origin) == isKnown)
        }
    }
}

extension AsyncStream<Data> {
    fileprivate static var abc: AsyncStream<Data> {
        AsyncStream {
            for byte in "abc" { $0.yield(Data(String(byte).utf8)) }
            $0.finish()
        }
    }
}
