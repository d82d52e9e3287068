import Foundation
import Testing

/// `--stream sse`: events, for which the client connects again and again. `/events/N` sends one event for each connection.
@Suite(.timeLimit(.minutes(60))) struct EventTests {
    /// An event in a report, as the server sends it.
    private static func event(_ number: Int, retry: JSON = .null) -> JSON {
        ["event": "tick", "data": "\"ü\"\n\(number)", "id": "\(number)", "retry": retry]
    }

    @Test func eventsComeUntilStatus204() async throws {
        let run = try await report(["\(url)/events", "--stream", "sse"])
        #expect(run.report["items"] == [Self.event(1, retry: 20), Self.event(2), Self.event(3)])
        #expect(run.report.values("ok", "error", "status") == [true, .null, 204])
    }

    @Test func eventsComeUpToALimit() async throws {
        let run = try await report(["\(url)/events/100", "--stream", "sse", "--limit", "2"])
        #expect(run.report["items"] == [Self.event(1, retry: 20), Self.event(2)])
        #expect(run.report.values("ok", "status") == [true, 200])
        #expect(!run.report["headers"].elements.isEmpty)
    }

    @Test func eventsComeAfterTheLastID() async throws {
        let run = try await report(["\(url)/events", "--stream", "sse", "-H", "Last-Event-ID: 2"])
        #expect(run.report["items"] == [Self.event(3)])
    }

    @Test func noEventsAreNoFailure() async throws {
        let run = try await report(["\(url)/events/0", "--stream", "sse"])
        #expect(run.report.values("ok", "items") == [true, []])
    }

    @Test func eventsArePrintedAsJSON() async throws {
        let run = try await client(["\(url)/events", "--stream", "sse"])
        let events = try run.lines.map { try JSON(parsing: Data($0.utf8)) }
        #expect(events.map { $0.values("id", "retry") } == [["1", 20], ["2", .null], ["3", .null]])
    }

    @Test func theEventsBeforeAFailureAreReported() async throws {
        let run = try await report(["\(url)/events/1/404", "--stream", "sse"], status: 1)
        #expect(run.report["items"] == [Self.event(1, retry: 20)])
        #expect(run.report.values("ok", "error.kind", "status") == [false, "unacceptable_status", 404])
    }

    @Test func anotherTypeIsAFailure() async throws {
        let run = try await report(["\(url)/", "--stream", "sse"], status: 1)
        #expect(run.report.values("items", "error.kind") == [[], "unacceptable_content_type"])
    }

    @Test(
        arguments: [
            (["--deadline"], "timeout_deadline"), (["--deadline", "600", "--cancel-after"], "cancelled"),
        ] as [([String], JSON)])
    func theEventsBeforeALimitAreReported(options: [String], kind: JSON) async throws {
        // A slow machine gets more time for the event to come.
        for limit in ["0.5", "5", "50"] {
            let run = try await report(["\(url)/events-stuck", "--stream", "sse"] + options + [limit], status: 1)
            let events = JSON.array(run.report["items"].elements.map { $0["data"] })
            guard limit == "50" || events != [] else { continue }
            #expect(events == ["one"])
            #expect(run.report["error"]["kind"] == kind)
            break
        }
    }

    @Test func theDeadlineIsForAllConnections() async throws {
        let run = try await report(["http://127.0.0.1:1/", "--stream", "sse", "--deadline", "0.5"], status: 1)
        #expect(run.report.values("items", "error.kind") == [[], "timeout_deadline"])
    }

    @Test func aBodyThatIsReadOnceIsAFailure() async throws {
        let run = try await report(
            ["\(url)/events", "--stream", "sse", "-X", "PUT", "-d", "@-"], status: 1, input: "once")
        #expect(run.report["error"]["kind"] == "body_not_replayable")
    }

    @Test func aPostIsSentOnce() async throws {
        let run = try await report(["\(url)/events", "--stream", "sse", "-d", "@-"], input: "once")
        #expect(run.report["items"] == [Self.event(1, retry: 20)])
        #expect(run.report.values("ok", "status") == [true, 200])
    }

    @Test func aReaderThatLeavesIsNoFailure() async throws {
        let run = try await shell(
            #""$trellis" "$1" --stream sse | head -c 16; exit "${PIPESTATUS[0]}""#, ["\(url)/events/100"])
        #expect(run.text == #"{"event": "tick""#)
        #expect(run.errors == "")
        #expect(run.status == 0)
    }
}
