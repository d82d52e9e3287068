import Foundation
import Trellis
import TrellisSignatures

/// What has happened, for the receivers of webhooks.
struct WebhookEvent: Encodable, Sendable {
    var id: String
    var type: String
}

/// A sender of webhooks: customers choose the URLs, so it reaches the public Internet alone, and signs what it sends.
struct WebhookSender: Sendable {
    let session: Session

    /// Creates a sender. Its parameters are those that its tests set: the networks, and the clock.
    init(
        secret: String, egress: EgressPolicy = .publicInternet, clock: (any Clock<Duration>)? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        var configuration = SessionConfiguration()
        configuration.egress = egress
        configuration.redirects = RedirectPolicy(maximumRedirects: 0)
        configuration.timeouts = Timeouts(total: .seconds(30))
        configuration.maximumBodySize = .bytes(64 << 10)
        configuration.retry = RetryPolicy(retryLimit: 3, addsIdempotencyKey: true)
        configuration.steps.signers.append(
            HMACSigner(
                secret: secret.utf8, field: "X-Signature", covering: [.timestamp, ".", .body],
                value: ["t=", .timestamp, ",v1=", .signature], now: now))
        session = Session(configuration: configuration, clock: clock)
    }

    /// The result of a delivery, for the customer's log.
    enum Outcome: Equatable {
        case delivered(status: Int)
        /// The URL leads to a place that is not for customers. It is switched off, and nothing was sent.
        case forbidden(String)
        /// The receiver has failed, also with the retries.
        case failed(String)
    }

    func deliver(_ event: WebhookEvent, to url: String) async throws -> Outcome {
        do {
            let request = try Request(url, method: .post, body: .json(event))
            let (_, response) = try await session.data(request)
            guard response.status.kind == .successful else { return .failed("status \(response.status.code)") }
            return .delivered(status: response.status.code)
        } catch let error as TrellisError {
            if case .egressRefused(let refusal) = error.reason { return .forbidden(refusal.description) }
            return .failed(error.kind.rawValue)
        }
    }
}
