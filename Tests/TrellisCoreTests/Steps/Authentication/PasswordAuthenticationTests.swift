import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// User names and passwords, sent in the scheme that the server asks for.
@Suite(.timeLimit(.minutes(3)))
struct PasswordAuthenticationTests {
    /// A server that sends the responses of a script, and repeats the last one.
    struct World: Sendable {
        let transport: MockTransport
        let session: Session

        init(_ answers: [MockResponse], _ change: (inout SessionConfiguration) -> Void = { _ in }) {
            transport = MockTransport(responses: answers)
            var configuration = SessionConfiguration()
            change(&configuration)
            session = Session(configuration: configuration, transport: transport)
        }

        /// The scheme of each request's credentials, `-` without any.
        var schemes: [String] {
            transport.requests.map { request in
                let field = request.request.headers[.authorization]
                return field?.split(separator: " ").first.map(String.init) ?? "-"
            }
        }

        /// Sends a request with credentials, and returns the status of the response.
        func get(_ url: String = "http://a.example/x") async throws -> Int {
            try await session.data(Request(url).respondingToChallenges(username: "ada", password: "secret")).1.status
                .code
        }
    }

    static let basic = #"Basic realm="r", charset="UTF-8""#
    static let digest = #"Digest realm="r", nonce="n", qop="auth""#

    static func refusal(_ challenges: String...) -> MockResponse {
        MockResponse(
            status: 401, headers: HTTPFields(challenges.map { HTTPField(name: .wwwAuthenticate, value: $0) }),
            body: Data("no".utf8))
    }

    static func redirect(to url: String) -> MockResponse { MockResponse(status: 302, headers: [.location: url]) }

    // MARK: The choice of a scheme

    @Test func nothingIsSentBeforeTheServerAsks() async throws {
        let world = World([.text("yes")])
        #expect(try await world.get() == 200)
        #expect(world.schemes == ["-"])
    }

    @Test func basicIsAnsweredEachTime() async throws {
        let world = World([Self.refusal(Self.basic), .text("yes"), Self.refusal(Self.basic), .text("yes")])
        let request = Request("http://a.example/").respondingToChallenges(username: "ada", password: "secret")
        for _ in 0..<2 { #expect(try await world.session.data(request).1.status == .ok) }
        #expect(world.schemes == ["-", "Basic", "-", "Basic"])
        #expect(world.transport.requests[1].request.headers[.authorization] == "Basic YWRhOnNlY3JldA==")
    }

    @Test func digestIsAnsweredAndThenSentAtOnce() async throws {
        let world = World([Self.refusal(Self.digest), .text("yes")])
        let request = Request("http://a.example/").respondingToChallenges(username: "ada", password: "secret")
        for _ in 0..<2 { #expect(try await world.session.data(request).1.status == .ok) }
        #expect(world.schemes == ["-", "Digest", "Digest"])
    }

    @Test(arguments: [
        ["\(basic), \(digest)"], ["\(digest), \(basic)"], [basic, digest], [digest, basic],
        ["Negotiate, \(basic)", digest],
    ])
    func digestIsPreferredToBasic(_ challenges: [String]) async throws {
        let fields = HTTPFields(challenges.map { HTTPField(name: .wwwAuthenticate, value: $0) })
        let world = World([MockResponse(status: 401, headers: fields), .text("yes")])
        #expect(try await world.get() == 200)
        #expect(world.schemes == ["-", "Digest"])
    }

    @Test func basicIsAnsweredWhereTheDigestIsNotUnderstood() async throws {
        let world = World([
            Self.refusal(#"Digest realm="r", nonce="n", algorithm=SHA3-512"#, Self.basic), .text("yes"),
        ])
        #expect(try await world.get() == 200)
        #expect(world.schemes == ["-", "Basic"])
    }

    @Test(arguments: ["Negotiate", #"Bearer realm="r""#, "Basic=", ""])
    func otherSchemesAreNotAnswered(_ challenge: String) async throws {
        let world = World([Self.refusal(challenge)])
        #expect(try await world.get() == 401)
        #expect(world.schemes == ["-"])
    }

    @Test func otherStatusesAskForNothing() async throws {
        let world = World([MockResponse(status: 403, headers: [.wwwAuthenticate: Self.basic])])
        #expect(try await world.get() == 403)
        #expect(world.schemes == ["-"])
    }

    // MARK: A wrong password

    @Test func aWrongPasswordIsTriedOnce() async throws {
        for (challenge, scheme) in [(Self.basic, "Basic"), (Self.digest, "Digest")] {
            let world = World([Self.refusal(challenge)])
            #expect(try await world.get() == 401)
            #expect(world.schemes == ["-", scheme])
        }
    }

    /// A server that has refused the digest of a wrong password does not get the password instead.
    @Test func theDigestOfAWrongPasswordIsNotFollowedByThePassword() async throws {
        for second in [Self.refusal(Self.basic), Self.refusal(Self.basic, Self.digest)] {
            let world = World([Self.refusal(Self.digest, Self.basic), second])
            #expect(try await world.get() == 401)
            #expect(world.schemes == ["-", "Digest"])
        }
    }

    /// A server whose Digest challenge was answered by an earlier request does not get the password either.
    @Test func aLaterChallengeDoesNotFetchThePassword() async throws {
        let world = World([Self.refusal(Self.digest), .text("yes"), Self.refusal(Self.basic), .text("yes")])
        let request = Request("http://a.example/x").respondingToChallenges(username: "ada", password: "secret")
        #expect(try await world.session.data(request).1.status.code == 200)
        #expect(try await world.session.data(request).1.status.code == 401)
        #expect(world.schemes == ["-", "Digest", "Digest"])
    }

    /// The same, if the session completes the URLs, so that no response is sent ahead of a challenge.
    @Test func aLaterChallengeToARelativeURLDoesNotFetchThePassword() async throws {
        let step = PasswordAuthentication(username: "ada", password: "secret")
        let answers = [Self.refusal(Self.digest), .text("yes"), Self.refusal(Self.basic), .text("yes")]
        let world = World(answers) {
            $0.steps.network.append(step)
            $0.steps.network.append(Relocating())
        }
        #expect(try await world.session.data("http://a.example/x").1.status.code == 200)
        #expect(try await world.session.data("http://a.example/x").1.status.code == 401)
        #expect(world.schemes == ["-", "Digest", "-"])
    }

    /// A step that changes the URL, so that the step before it does not know the URL that is sent.
    private struct Relocating: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request.setting(\.url, to: "http://a.example/other"))
        }
    }

    // MARK: Origins

    @Test(arguments: [basic, digest])
    func anotherOriginGetsNothing(_ challenge: String) async throws {
        // The redirect comes before the first origin has sent a challenge, and then after one.
        let early = World([Self.redirect(to: "http://b.example/"), Self.refusal(challenge)])
        #expect(try await early.get() == 401)
        #expect(early.schemes == ["-", "-"])
        let late = World([
            Self.refusal(challenge), Self.redirect(to: "https://a.example/x"), Self.refusal(challenge),
        ])
        #expect(try await late.get() == 401)
        #expect(late.schemes.first == "-")
        #expect(late.schemes.last == "-")
        #expect(late.transport.startedCount == 3)
    }

    @Test func aRedirectWithinTheOriginIsAnsweredAgain() async throws {
        let world = World([
            Self.refusal(Self.basic), Self.redirect(to: "/y"), Self.refusal(Self.basic), .text("yes"),
        ])
        #expect(try await world.get() == 200)
        #expect(world.schemes == ["-", "Basic", "-", "Basic"])
    }

    @Test func aSessionAnswersOneOrigin() async throws {
        let step = try PasswordAuthentication(username: "ada", password: "secret", origin: "http://a.example")
        let world = World([Self.refusal(Self.basic)]) { $0.steps.network.append(step) }
        #expect(try await world.session.data("http://b.example/").1.status.code == 401)
        #expect(try await world.session.data("http://a.example:8080/").1.status.code == 401)
        #expect(world.schemes == ["-", "-"])
        #expect(try await world.session.data("http://a.example/").1.status.code == 401)
        #expect(world.schemes == ["-", "-", "-", "Basic"])
    }

    // MARK: Requests

    @Test func aRequestWithCredentialsOfItsOwnKeepsThem() async throws {
        let world = World([Self.refusal(Self.basic)])
        let request = Request("http://a.example/").withAuthorization(bearerToken: "own")
            .respondingToChallenges(username: "ada", password: "secret")
        #expect(try await world.session.data(request).1.status.code == 401)
        #expect(world.schemes == ["Bearer"])
        #expect(try await world.get("http://user:password@a.example/") == 401)
        #expect(world.transport.startedCount == 2)
    }

    @Test func theLastCredentialsCount() async throws {
        let world = World([Self.refusal(Self.basic)])
        let request = Request("http://a.example/").respondingToChallenges(username: "bob", password: "other")
            .respondingToChallenges(username: "ada", password: "secret")
        _ = try await world.session.data(request)
        #expect(world.transport.requests.map { $0.request.headers[.authorization] } == [nil, "Basic YWRhOnNlY3JldA=="])
    }

    @Test func aBodyThatCannotBeSentAgainSaysSo() async throws {
        let world = World([Self.refusal(Self.basic)])
        let chunks = AsyncStream<Data> { $0.finish() }
        let request = Request("http://a.example/", method: .put, body: .stream(chunks))
            .respondingToChallenges(username: "ada", password: "secret")
        let error = await #expect(throws: TrellisError.self) { try await world.session.data(request) }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(error?.response?.status.code == 401)
        #expect(world.schemes == ["-"])
    }

    @Test func aStreamIsAnsweredBeforeItsHeadIsHandedOn() async throws {
        let world = World([Self.refusal(Self.basic), .text("yes")])
        let request = Request("http://a.example/").respondingToChallenges(username: "ada", password: "secret")
        let answer = try await world.session.stream(request)
        #expect(try await answer.chunks.collect(upTo: 100) == Data("yes".utf8))
    }

    @Test func aNameThatBasicCannotHoldIsAnError() async throws {
        let world = World([Self.refusal(Self.basic)])
        let request = Request("http://a.example/").respondingToChallenges(username: "a:b", password: "secret")
        let error = await #expect(throws: TrellisError.self) { try await world.session.data(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(world.schemes == ["-"])
    }
}
