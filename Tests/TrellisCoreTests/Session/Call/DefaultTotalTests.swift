import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The requests that have a total time limit by default, and the effect of one named limit on the others.
@Suite(.timeLimit(.minutes(3)))
struct DefaultTotalTests {
    private static var chunks: AsyncStream<Data> {
        AsyncStream {
            $0.yield(Data("a".utf8))
            $0.finish()
        }
    }

    /// Sends the response with one byte every 50 s for ten minutes. Returns the attempt.
    private func drip(_ scripted: Scripted) async throws -> ScriptedAttempt {
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 200)
        for _ in 0..<12 {
            await scripted.advance(by: .seconds(50))
            attempt.receiveBody("x")
        }
        attempt.end()
        return attempt
    }

    @Test func anAnswerInMemoryHasFiveMinutes() async throws {
        let scripted = Scripted()
        async let outcome = Outcome {
            String(decoding: try await scripted.session.data("http://localhost/").0, as: UTF8.self)
        }
        _ = try await drip(scripted)
        #expect(await outcome == .failed(.timedOut(.total)))
    }

    @Test func aStreamHasNoEnd() async throws {
        let scripted = Scripted()
        async let outcome = Outcome {
            let stream = try await scripted.session.stream("http://localhost/log")
            return String(decoding: try await stream.chunks.collect(upTo: 100), as: UTF8.self)
        }
        _ = try await drip(scripted)
        #expect(await outcome == .answer(String(repeating: "x", count: 12)))
    }

    @Test func aStreamWithStepsHasNoEndEither() async throws {
        let scripted = Scripted { $0.steps.adapters.append(Adapter { request, _ in request }) }
        async let outcome = Outcome {
            let stream = try await scripted.session.stream("http://localhost/log")
            return String(decoding: try await stream.chunks.collect(upTo: 100), as: UTF8.self)
        }
        _ = try await drip(scripted)
        #expect(await outcome == .answer(String(repeating: "x", count: 12)))
    }

    @Test(arguments: [true, false])
    func anUploadHasNoEnd(isVerb: Bool) async throws {
        let scripted = Scripted()
        let session = scripted.session
        async let outcome = Outcome {
            let request = Request("http://localhost/films", method: .post)
            let (data, _) =
                isVerb
                ? try await session.upload(Data("a".utf8), to: request)
                : try await session.data(request.withBody(.stream(Self.chunks)))
            return String(decoding: data, as: UTF8.self)
        }
        _ = try await drip(scripted)
        #expect(await outcome == .answer(String(repeating: "x", count: 12)))
    }

    /// A small form is sent from memory, and stays an upload.
    @Test func aSmallFormHasNoEnd() throws {
        var form = MultipartFormData()
        form.append("x", withName: "a")
        let request = Request("http://localhost/", method: .post, body: .multipart(form))
        let prepared = try RequestPreparationTests.prepare(request)
        guard case .bytes = prepared.wire.body else {
            Issue.record("the form is not in memory")
            return
        }
        #expect(prepared.limits.total == nil)
    }

    @Test func anUploadThatIsRedirectedHasNoEndBehindTheRedirect() async throws {
        let scripted = Scripted()
        let session = scripted.session
        async let outcome = Outcome {
            let request = Request("http://localhost/films", method: .post, body: .stream(Self.chunks))
            return String(decoding: try await session.data(request).0, as: UTF8.self)
        }
        let first = try await scripted.transport.nextAttempt()
        first.connect()
        first.receiveHead(status: 303, headers: [.location: "/film"])
        first.end()
        _ = try await drip(scripted)
        #expect(await outcome == .answer(String(repeating: "x", count: 12)))
    }

    @Test func aTotalThatTheSessionNamesHoldsForStreamsToo() async throws {
        let scripted = Scripted { $0.timeouts.total = .seconds(70) }
        async let outcome = Outcome {
            let stream = try await scripted.session.stream("http://localhost/log")
            return String(decoding: try await stream.chunks.collect(upTo: 100), as: UTF8.self)
        }
        _ = try await drip(scripted)
        #expect(await outcome == .failed(.timedOut(.total)))
    }

    @Test func whatARequestDoesNotNameIsTheSessions() async throws {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(1), idle: nil, total: .seconds(7))
        let preparation = RequestPreparation(configuration)
        var request = Request("http://localhost/")
        request.timeouts = Timeouts(responseHead: .seconds(3))
        let limits = preparation.limits(of: request, delivery: .memory)
        #expect(
            limits
                == TimeLimits(Timeouts(connect: .seconds(1), responseHead: .seconds(3), idle: nil, total: .seconds(7))))
        request.timeouts?.total = nil
        #expect(preparation.limits(of: request, delivery: .memory).total == nil)
        request.timeouts?.total = Timeouts.inherited
        #expect(preparation.limits(of: request, delivery: .memory).total == 7_000_000_000)
        #expect(request.timeouts?.connect == .seconds(10))
    }

    @Test func aLimitThatIsReadAndWrittenBackIsNamed() {
        var timeouts = Timeouts()
        #expect(timeouts.total == .seconds(300) && timeouts.idle == .seconds(60))
        #expect(timeouts.total(hasDefault: false) == nil)
        timeouts.total = timeouts.total
        #expect(timeouts.total(hasDefault: false) == .seconds(300))
        #expect(Timeouts.endless.total == nil)
    }
}
