import Foundation
import Trellis

/// An adapter of a program's.
struct RequestTimes: RequestAdapter {
    func adapt(_ request: Request, context: CallContext) async throws -> Request {
        request.withHeader("X-Sent", Date.now.ISO8601Format())
    }
}

func configureStages() -> Session {
    var configuration = SessionConfiguration()
    configuration.retry = RetryPolicy()  // up to two more attempts, where a repetition does no harm
    configuration.steps.adapters.append(RequestTimes())  // an adapter of yours
    configuration.cookies = CookieJar()
    configuration.redirects = RedirectPolicy(maximumRedirects: 5)
    configuration.steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))
    configuration.steps.circuitBreaker = CircuitBreaker()
    let session = Session(configuration: configuration)
    return session
}
