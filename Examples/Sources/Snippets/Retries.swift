import Trellis

/// The code of the page about retries.
enum RetriesPage {
    struct Question: Encodable, Sendable { var text: String }
    struct Delta: Decodable, Sendable { var text: String }

    static func setPolicies(_ configuration: inout SessionConfiguration) {
        configuration.retry = RetryPolicy()
        configuration.retry = RetryPolicy(
            retryLimit: 4, exponentialBackoffScale: .milliseconds(200), maximumBackoff: .seconds(10),
            addsIdempotencyKey: true)
        configuration.steps.retriers.append(RetryOnConflict())
        configuration.steps.hedging = HedgingPolicy(after: .milliseconds(200))
    }

    static func sendOne(_ policy: RetryPolicy, _ session: Session) async throws {
        let data = try await session.data("https://api.example.com/report", interceptor: policy).0
        print(data.count)
    }

    static func chat(_ question: Question, id: String, _ policy: RetryPolicy, _ session: Session) async throws {
        var chat = try Request("https://api.example.com/chat", method: .post, body: .json(question))
        chat.headers["Idempotency-Key"] = id  // makes a POST repeatable
        let answer = try await session.stream(chat, interceptor: policy).validate()
        for try await delta in answer.events(of: Delta.self) { print(delta.text, terminator: "") }
    }

    struct RetryOnConflict: RequestRetrier {
        func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
            guard attempt.response?.status.code == 409, context.attempt < 3 else { return .doNotRetry }
            return .retryWithDelay(.milliseconds(100))
        }
    }
}
