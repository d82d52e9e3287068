import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// The classification of statuses and methods, which every policy shares.
struct StatusSemanticsTests {
    @Test func fiveStatusesRedirect() {
        let redirects = (0..<600).filter { HTTPResponse.Status(code: $0).isRedirect }
        #expect(redirects == [301, 302, 303, 307, 308])
    }

    @Test(arguments: 200..<600)
    func whatFollowsRedirectsAgrees(code: Int) {
        let request = Request("http://a.example/a")
        let response = RedirectPolicyTests.response(code, ["/b"], to: request.url)
        let isFollowed =
            if case .follow = RedirectPolicy().decision(for: response, to: request, redirects: []) { true } else {
                false
            }
        #expect(isFollowed == HTTPResponse.Status(code: code).isRedirect)
    }

    @Test(arguments: 200..<600)
    func whatIsTransientAgrees(code: Int) {
        let isTransient = HTTPResponse.Status(code: code).isTransient
        let error = TrellisError(.validationFailed(.status(code)), method: .get)
        #expect(error.isTransient == isTransient)
        #expect(error.isRetryable == isTransient)
        #expect(RetryPolicy.defaultRetryableHTTPStatusCodes.contains(code) == isTransient)
        #expect(TrellisError.ProxyFailure.refused(proxy: "x", status: code).isTransient == isTransient)
        let isFault = CircuitBreaker.Outcome(status: code, error: nil) == .failure
        // The statuses 408 and 429 are about the client.
        #expect(isFault == (isTransient && code != 408 && code != 429))
    }

    @Test func whatMayBeSentTwiceAgrees() throws {
        for name in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY", "POST", "PATCH", "get", "X"] {
            let method = try #require(HTTPRequest.Method(name))
            #expect(RetryPolicy.defaultRetryableHTTPMethods.contains(method) == method.isIdempotent)
            #expect(Request("http://a.example/", method: method).mayBeRepeated == method.isIdempotent)
        }
    }

    static let reasons: [TrellisError.Reason] = [
        .connectionFailed(.unreachable("x")), .connectionFailed(.nameResolution("x")),
        .securityFailed(.untrusted(.init(.selfSigned))), .timedOut(.connect), .timedOut(.idle),
        .timedOut(.responseHead),
        .exchangeFailed(.connectionLost), .exchangeFailed(.http2("x")), .exchangeFailed(.send("x")),
        .invalidResponse(.bodyCutShort("x")), .bodyFailed(.notReplayable), .other("x"), .unsupported("x"),
    ]

    /// The retry policy and circuit breakers classify these errors as `isTransient` does.
    @Test(arguments: reasons)
    func whatFailsForTheMomentAgrees(_ reason: TrellisError.Reason) {
        let error = TrellisError(reason, method: .get)
        #expect(
            RetryPolicy().isTransient(FailedAttempt(request: Request("http://a.example/"), error: error))
                == error.isTransient)
        #expect((CircuitBreaker.Outcome(status: nil, error: error) == .failure) == error.isTransient)
    }
}
