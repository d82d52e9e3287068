import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The order in which a handle is resumed, suspended and cancelled, and the resulting state of the request.
@Suite(.timeLimit(.minutes(3)))
struct DataRequestTests {
    enum Call: Character, Sendable {
        case resume = "r", suspend = "s", cancel = "c"
    }

    /// An order of up to four calls, with the resulting phase and number of attempts.
    struct Row: Sendable, CustomTestStringConvertible {
        let calls: String
        let phase: RequestState
        let attempts: Int
        init(_ calls: String, _ phase: RequestState, _ attempts: Int) {
            (self.calls, self.phase, self.attempts) = (calls, phase, attempts)
        }
        var testDescription: String { calls.isEmpty ? "nothing" : calls }
    }

    static let rows: [Row] = [
        Row("", .initialized, 0),
        Row("r", .resumed, 1), Row("s", .suspended, 0), Row("c", .cancelled, 0),
        Row("rr", .resumed, 1), Row("rs", .suspended, 1), Row("rc", .cancelled, 1),
        Row("sr", .resumed, 1), Row("ss", .suspended, 0), Row("sc", .cancelled, 0),
        Row("cr", .cancelled, 0), Row("cs", .cancelled, 0), Row("cc", .cancelled, 0),
        Row("rsr", .resumed, 1), Row("rss", .suspended, 1), Row("rsc", .cancelled, 1),
        Row("srs", .suspended, 1), Row("srr", .resumed, 1), Row("src", .cancelled, 1),
        Row("ssr", .resumed, 1), Row("rcr", .cancelled, 1), Row("rcs", .cancelled, 1), Row("scr", .cancelled, 0),
        Row("crs", .cancelled, 0), Row("rsrs", .suspended, 1), Row("srsr", .resumed, 1), Row("rsrc", .cancelled, 1),
        Row("rssr", .resumed, 1), Row("srsc", .cancelled, 1),
    ]

    private static func perform(_ calls: String, on handle: DataRequest) {
        for call in calls.compactMap(Call.init) {
            switch call {
            case .resume: handle.resume()
            case .suspend: handle.suspend()
            case .cancel: handle.cancel()
            }
        }
    }

    /// Steps make no difference, and neither does a call after the cancellation.
    @Test(arguments: ["c", "sc", "cr", "scr", "crs"], [true, false])
    func whatWasNotSentIsNoExchange(_ calls: String, _ hasSteps: Bool) async throws {
        let scripted = Scripted.narrow
        var request = Request("http://localhost/")
        if hasSteps { request = request.withAdapter(Adapter { request, _ async in request }) }
        let handle = scripted.session.request(request)
        Self.perform(calls, on: handle)
        await scripted.session.settle()
        #expect(await handle.state == .cancelled)
        #expect(handle.exchanges.isEmpty)
        #expect(scripted.transport.attempts.isEmpty)
    }

    @Test(arguments: rows)
    func callsInThisOrder(_ row: Row) async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        Self.perform(row.calls, on: handle)
        await scripted.session.settle()
        #expect(await handle.state == row.phase)
        #expect(scripted.transport.attempts.count == row.attempts)
        let attempt = scripted.transport.attempts.first
        let wasCancelled = row.phase == .cancelled && row.attempts == 1
        if let attempt { #expect(attempt.count(of: .cancel) == (wasCancelled ? 1 : 0)) }
        // The transport receives each change once, and the last one matches the final state.
        let pauses =
            attempt?.commands.compactMap { call -> Bool? in if case .suspend(let on) = call { on } else { nil } } ?? []
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 != $1 })
        if row.phase == .suspended, row.attempts == 1 { #expect(pauses.last == true) }
        if row.phase == .resumed { #expect(pauses.last != true) }
    }

    @Test(arguments: rows.filter { $0.phase != .cancelled })
    func whateverCameFirstTheAnswerComesOnceItIsResumed(_ row: Row) async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        Self.perform(row.calls, on: handle)
        let answer = Task { try await handle.data() }
        handle.resume()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.respond("hello")
        #expect(String(decoding: try await answer.value, as: UTF8.self) == "hello")
        #expect(await handle.state == .finished)
        #expect(String(decoding: try await handle.data(), as: UTF8.self) == "hello", "as often as one likes")
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func askingForTheResponseDoesNotResumeASuspendedRequest() async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        handle.suspend()
        let answer = Task { try await handle.data() }
        await scripted.session.settle()
        #expect(scripted.transport.attempts.isEmpty)
        handle.cancel()
        await #expect(throws: TrellisError.self) { try await answer.value }
    }

    @Test func whoIsSuspendedInTheQueueLosesTheirPlace() async throws {
        let scripted = Scripted.narrow
        let (blocker, _) = try await scripted.block()
        let handles = (1...3).map { scripted.session.request("http://localhost/\($0)") }
        for handle in handles { handle.resume() }
        await scripted.session.settle()
        handles[0].suspend()
        handles[0].resume()
        await scripted.session.settle()
        blocker.cancel()
        var order: [String] = []
        for _ in handles {
            let attempt = try await scripted.transport.nextAttempt()
            order.append(String(attempt.request.url.suffix(1)))
            attempt.respond(status: 204)
        }
        #expect(order == ["2", "3", "1"])
    }

    @Test func suspendingAndResumingAtTheVeryMomentOfAdmissionLosesNoSlot() async throws {
        let scripted = Scripted { $0.limits.total = 2 }
        let (first, _) = try await scripted.block()
        let (second, _) = try await scripted.block()
        let waiting = scripted.session.request("http://localhost/waiting")
        waiting.resume()
        await scripted.session.settle()
        // All calls run together on the engine thread: the slot is given, and the request leaves and comes back while another
        // slot is free, before the request learns of the slot.
        let engine = scripted.session.engine
        await withContinuation { continuation in
            engine.submit {
                first.cancel()
                waiting.suspend()
                second.cancel()
                waiting.resume()
                continuation.resume()
            }
        }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.respond(status: 204)
        _ = try await waiting.data()
        await scripted.session.settle()
        #expect(scripted.transport.attempts.count == 3)
        // Both slots are free again.
        let after = (1...2).map { scripted.session.request("http://localhost/\($0)") }
        for handle in after { handle.resume() }
        await scripted.session.settle()
        #expect(scripted.transport.attempts.count == 5, "a slot was lost")
    }

    @Test func aHandleOnARequestThatCannotBeMadeSaysSoWhenAsked() async {
        let handle = Scripted().session.request("no url")
        #expect(await handle.state == .finished)
        handle.resume()
        handle.suspend()
        handle.cancel()
        let error = await #expect(throws: TrellisError.self) { try await handle.data() }
        #expect(error?.kind == .invalidURL)
    }
}
