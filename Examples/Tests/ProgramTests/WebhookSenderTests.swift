import Foundation
import Testing
import Trellis
import TrellisTesting

@testable import Programs

/// The tests that the author of `WebhookSender` writes for it.
@Suite(.timeLimit(.minutes(15))) struct WebhookSenderTests {
    private let event = WebhookEvent(id: "e1", type: "paid")

    /// A sender that reaches the loopback servers of tests too. Its clock stands still unless a test moves it.
    private func sender(clock: TestClock = TestClock()) throws -> WebhookSender {
        WebhookSender(
            secret: "s3cret", egress: try .publicInternet.allowing("127.0.0.1"), clock: clock,
            now: { Date(timeIntervalSince1970: 1_800_000_000) })
    }

    @Test func theReceiverCanCheckTheSignature() async throws {
        let receiver = try LoopbackServer.http { _ in .text("thanks") }
        #expect(try await sender().deliver(event, to: receiver.url("/hook")) == .delivered(status: 200))
        let request = try #require(receiver.requests.first)
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(body == #"{"id":"e1","type":"paid"}"# || body == #"{"type":"paid","id":"e1"}"#)
        let signature = try #require(request["X-Signature"])
        #expect(signature.hasPrefix("t=1800000000,v1=") && signature.utf8.count == 16 + 64)
    }

    @Test(arguments: [
        "http://169.254.169.254/latest/meta-data/", "http://localhost/admin", "http://2130706433/", "https://10.0.0.7/",
        "http://[::ffff:127.0.0.1]/",
    ])
    func aCustomerCannotReachTheNetworkOfTheSender(_ url: String) async throws {
        let outcome = try await WebhookSender(secret: "s3cret").deliver(event, to: url)
        guard case .forbidden(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.contains("denied"))
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let receiver = try LoopbackServer.http { _ in
            LoopbackServer.Response(307, headers: [("Location", "http://127.0.0.1/admin")])
        }
        #expect(try await sender().deliver(event, to: receiver.url("/hook")) == .failed("too_many_redirects"))
    }

    @Test func aReceiverThatIsBusyGetsTheEventAgain() async throws {
        let receiver = try LoopbackServer.http { request in
            request["Idempotency-Key"] == nil ? .text("no key", status: 400) : .text("", status: 503)
        }
        let clock = TestClock()
        let sender = try sender(clock: clock)
        let outcome = Task { try await sender.deliver(event, to: receiver.url("/hook")) }
        for _ in 1...3 {
            await clock.waitForSleepers()
            await clock.advance(by: .seconds(30) / 4)
        }
        #expect(try await outcome.value == .failed("status 503"))
        #expect(receiver.requests.count == 4 && Set(receiver.requests.map { $0["Idempotency-Key"] }).count == 1)
    }
}
