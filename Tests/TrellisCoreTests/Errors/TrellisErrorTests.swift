import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The properties of errors, and their descriptions.
struct TrellisErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let reason: TrellisError.Reason
        let kind: TrellisError.Kind
        let isTimeout: Bool
        let isConnectionFailure: Bool
        /// The expected value for an idempotent request that may have been sent.
        let isRetryable: Bool

        init(
            _ reason: TrellisError.Reason, _ kind: TrellisError.Kind, timeout: Bool = false, connection: Bool = false,
            retryable: Bool = false
        ) {
            (self.reason, self.kind) = (reason, kind)
            (isTimeout, isConnectionFailure, isRetryable) = (timeout, connection, retryable)
        }

        var testDescription: String { "\(reason)" }
    }

    static let rows: [Row] = [
        Row(.invalidRequest(.url("x")), .invalidURL),
        Row(.invalidRequest(.method("x")), .invalidRequest),
        Row(.invalidRequest(.headerField("x")), .invalidRequest),
        Row(.invalidRequest(.body("x")), .invalidRequest),
        Row(.invalidRequest(.parameters("x")), .invalidRequest),
        Row(.connectionFailed(.nameResolution("x")), .dns, connection: true, retryable: true),
        Row(.connectionFailed(.unreachable("x")), .connect, connection: true, retryable: true),
        Row(.connectionFailed(.noEndpoint("x")), .noEndpoint, connection: true, retryable: true),
        Row(.proxyFailed(.nameResolution(proxy: "x", reason: "y")), .proxy, connection: true, retryable: true),
        Row(.proxyFailed(.unreachable(proxy: "x", reason: "y")), .proxy, connection: true, retryable: true),
        Row(.proxyFailed(.unauthorized(proxy: "x", status: 407, hasCredentials: true)), .proxy, connection: true),
        Row(.proxyFailed(.refused(proxy: "x", status: 403)), .proxy, connection: true),
        Row(.proxyFailed(.refused(proxy: "x", status: 502)), .proxy, connection: true, retryable: true),
        Row(.proxyFailed(.noTunnel(proxy: "x", reason: "y")), .proxy, connection: true, retryable: true),
        Row(.egressRefused(.port(25)), .egressRefused),
        Row(.invalidRequest(.egress("x")), .invalidRequest),
        Row(.securityFailed(.handshake("x")), .tls, connection: true),
        Row(.securityFailed(.untrusted(.init(.selfSigned))), .untrusted, connection: true),
        Row(.securityFailed(.certificateAuthorityFile("x")), .file),
        Row(
            .securityFailed(.pinMismatch(PinMismatch(.publicKeys, host: "x", chain: [], configured: []))), .pinMismatch,
            connection: true),
        Row(.serverTrust(.noRequiredEvaluator(host: "x")), .trustRefused, connection: true),
        Row(.serverTrust(.customEvaluationFailed(host: "x")), .trustRefused, connection: true),
        Row(.invalidRequest(.trustEvaluator("x")), .invalidRequest),
        Row(.timedOut(.connect), .connectTimeout, timeout: true, connection: true, retryable: true),
        Row(.timedOut(.responseHead), .responseTimeout, timeout: true, retryable: true),
        Row(.timedOut(.idle), .idleTimeout, timeout: true, retryable: true),
        Row(.timedOut(.total), .totalTimeout, timeout: true),
        Row(.cancelled(.explicitly), .cancelled),
        Row(.cancelled(.sessionShutDown), .cancelled),
        Row(.exchangeFailed(.send("x")), .send, retryable: true),
        Row(.exchangeFailed(.receive("x")), .receive, retryable: true),
        Row(.exchangeFailed(.connectionLost), .receive, retryable: true),
        Row(.exchangeFailed(.http2("x")), .http2, retryable: true),
        Row(.exchangeFailed(.http2NotAgreed), .http2),
        Row(.exchangeFailed(.http3("x")), .http3, retryable: true),
        Row(.invalidResponse(.malformed("x")), .malformedResponse),
        Row(.invalidResponse(.headTooLarge(limit: 1)), .malformedResponse),
        Row(.invalidResponse(.bodyCutShort("x")), .truncatedBody, retryable: true),
        Row(.invalidResponse(.bodyTooLarge(limit: 1)), .bodyTooLarge),
        Row(.invalidResponse(.contentCoding("x")), .contentCoding),
        Row(.validationFailed(.status(404)), .unacceptableStatus),
        Row(.validationFailed(.status(503)), .unacceptableStatus, retryable: true),
        Row(.validationFailed(.contentType(nil, acceptable: [])), .unacceptableContentType),
        Row(.validationFailed(.digest("x")), .unacceptableDigest),
        Row(.validationFailed(.signature("x")), .unacceptableSignature),
        Row(.serializationFailed(.emptyBody(type: "x")), .serialization),
        Row(.serializationFailed(.decoding(type: "x", reason: "y")), .serialization),
        Row(.serializationFailed(.text(encoding: "x")), .serialization),
        Row(.serializationFailed(.format("x")), .serialization),
        Row(.serializationFailed(.element("x", type: "y", reason: "z")), .serialization),
        Row(.bodyFailed(.file(path: "x", reason: "y")), .file),
        Row(.bodyFailed(.lengthMismatch(promised: 1, given: 2)), .invalidRequest),
        Row(.bodyFailed(.sourceFailed), .other),
        Row(.bodyFailed(.notReplayable), .bodyNotReplayable),
        Row(.downloadFailed(.exists(path: "x")), .file),
        Row(.downloadFailed(.file(path: "x", reason: "y")), .file),
        Row(.downloadFailed(.unreadable(path: "x", reason: "y")), .file),
        Row(.downloadFailed(.checksum(name: "x", expected: "y", found: "z")), .checksumMismatch),
        Row(.downloadFailed(.resumeData("x")), .resumeData),
        Row(.redirectFailed(.tooMany(limit: 20)), .tooManyRedirects),
        Row(.redirectFailed(.loop(url: "x")), .tooManyRedirects),
        Row(.redirectFailed(.refused("x")), .redirectRefused),
        Row(
            .limited(.circuitOpen(host: "x", failures: 1, requests: 2, nextAttempt: nil)), .circuitOpen,
            retryable: true),
        Row(.limited(.rate(host: "x", wait: .zero, maximumWait: .zero)), .rateLimited, retryable: true),
        Row(.limited(.shed(origin: "x", ahead: 1, wait: nil)), .shed, retryable: true),
        Row(.webSocketFailed(.lost("x")), .webSocket, retryable: true),
        Row(.webSocketFailed(.closed(code: .serviceRestart, reason: "")), .webSocket, retryable: true),
        Row(.webSocketFailed(.dropped), .webSocket),
        Row(.webSocketFailed(.closed(code: .policyViolation, reason: "")), .webSocket),
        Row(.webSocketFailed(.handshake("x")), .webSocket),
        Row(.unsupported("x"), .unsupported),
        Row(.other("x"), .other),
    ]

    @Test(arguments: rows)
    func theReasonAnswersTheQuestions(_ row: Row) {
        let error = TrellisError(row.reason, method: .get, phase: .sending)
        #expect(error.kind == row.kind)
        #expect(error.isTimeout == row.isTimeout)
        #expect(error.isConnectionFailure == row.isConnectionFailure)
        #expect(error.isCancellation == (row.kind == .cancelled))
        #expect(error.isShed == (row.kind == .shed))
        #expect(error.isRetryable == row.isRetryable)
    }

    @Test(arguments: rows.filter { $0.isRetryable && $0.kind != .unacceptableStatus })
    func whatMayHaveArrivedIsRetryableOnlyIfTwiceIsOnce(_ row: Row) {
        #expect(!TrellisError(row.reason, method: .post, phase: .sending).isRetryable)
        #expect(TrellisError(row.reason, method: .post, phase: .connecting).isRetryable)
    }

    @Test func whatTheServerHasNotProcessedIsRetryable() {
        var error = TrellisError(.exchangeFailed(.http2("REFUSED_STREAM")), method: .post, phase: .sending)
        error.isUnprocessed = true
        #expect(error.isRetryable && error.mayHaveSentBytes)
        error.earlierTraffic = .other
        #expect(!error.isRetryable)
    }

    @Test func everyKindHasARow() { #expect(Set(Self.rows.map(\.kind)) == Set(TrellisError.Kind.allCases)) }

    @Test func theKindsAreTheOnesOfTheContract() {
        #expect(
            TrellisError.Kind.allCases.map(\.rawValue) == [
                "invalid_url", "invalid_request", "dns", "connect", "proxy", "egress_refused", "no_endpoint", "tls",
                "untrusted",
                "pin_mismatch",
                "trust_refused", "timeout_connect",
                "timeout_response", "timeout_idle", "timeout_deadline", "cancelled", "send", "receive",
                "truncated_body",
                "malformed_response",
                "body_too_large", "too_many_redirects", "redirect_refused", "circuit_open", "rate_limited", "shed",
                "content_coding", "http2", "http3", "unsupported", "unacceptable_status",
                "unacceptable_content_type", "unacceptable_digest", "unacceptable_signature", "serialization",
                "body_not_replayable", "resume_data",
                "checksum_mismatch", "file", "websocket", "other",
            ])
    }

    @Test(
        arguments: [
            (.composing, false), (.queued, false), (.connecting, false), (.sending, true), (.receiving, true),
            (.received, true),
        ] as [(TrellisError.Phase, Bool)])
    func bytesMayHaveBeenSentFromSendingOn(_ phase: TrellisError.Phase, _ maySent: Bool) {
        #expect(TrellisError(.other("x"), phase: phase).mayHaveSentBytes == maySent)
    }

    // MARK: Descriptions

    @Test(
        arguments: [
            (
                .timedOut(.total), .queued, 9_800, "all 8 in use",
                "GET http://a.example/: timed out (total) after 9.8 s waiting for a connection: all 8 in use"
            ),
            (
                .timedOut(.connect), .connecting, 250, nil,
                "GET http://a.example/: timed out (connect) after 250 ms connecting"
            ),
            (
                .timedOut(.idle), .receiving, 60_000, nil,
                "GET http://a.example/: timed out (idle) after 60.0 s receiving the body"
            ),
            (
                .timedOut(.responseHead), .sending, 1_000, nil,
                "GET http://a.example/: timed out (responseHead) after 1.0 s waiting for the response"
            ),
            (.cancelled(.explicitly), .receiving, 100, nil, "GET http://a.example/: the request was cancelled"),
            (
                .cancelled(.sessionShutDown), .queued, 5, nil,
                "GET http://a.example/: the session was shut down after the request had waited 5 ms for a connection"
            ),
            (
                .cancelled(.explicitly), .queued, 3_200, nil,
                "GET http://a.example/: the request was cancelled after it had waited 3.2 s for a connection"
            ),
            (
                .bodyFailed(.lengthMismatch(promised: 5, given: 6)), .sending, 1, nil,
                "GET http://a.example/: the body's source promised 5 bytes and gave 6"
            ),
        ] as [(TrellisError.Reason, TrellisError.Phase, Int, String?, String)])
    func theDescriptionIsASentence(
        _ reason: TrellisError.Reason, _ phase: TrellisError.Phase, _ milliseconds: Int, _ detail: String?,
        _ sentence: String
    ) {
        var error = TrellisError(reason, method: .get, url: "http://ann:secret@a.example/", phase: phase)
        error.metrics.total = .milliseconds(milliseconds)
        error.detail = detail
        #expect(error.description == sentence)
        #expect(error.errorDescription == sentence)
    }

    @Test func theCauseFollowsInBrackets() {
        struct Cause: Error, CustomStringConvertible { var description: String { "the disk is on fire" } }
        let error = TrellisError(.bodyFailed(.sourceFailed), underlying: Cause())
        #expect(error.description == "the body's source failed (the disk is on fire)")
    }

    @Test(
        arguments: [
            (.zero, "0 ms"), (.milliseconds(999), "999 ms"), (.milliseconds(1000), "1.0 s"),
            (.milliseconds(9_870), "9.8 s"), (.seconds(Int64.max), "\(Int64.max).0 s"),
            (.milliseconds(-1500), "-1500 ms"),
        ] as [(Duration, String)])
    func aDurationOfAnyLengthHasWords(_ duration: Duration, _ words: String) {
        #expect(duration.rounded == words)
        #expect(!Duration.seconds(Int64.min).rounded.isEmpty)
    }

    /// A step may throw the error of another call, such as that of the request for a token: it tells nothing of what this call has sent.
    @Test func theErrorOfAnotherCallIsNotThatOfItsMethod() {
        var error = TrellisError(.timedOut(.idle), method: .post, phase: .receiving)
        error.wasThrown(by: 1)
        #expect(!error.mayBeMadeAgain(.get))
        error.wasThrown(by: 2)
        #expect(error.metrics.callID == 1)
        #expect(error.mayBeMadeAgain(.get) && !error.isRetryable)
        error.earlierTraffic = .other
        #expect(!error.mayBeMadeAgain(.get))
    }

    // MARK: Errors of mocks

    @Test(
        arguments: [
            (.timedOut(.connect), .connecting, false), (.connectionFailed(.unreachable("x")), .connecting, false),
            (.timedOut(.responseHead), .sending, true),
            (.limited(.rate(host: "x", wait: .zero, maximumWait: .zero)), .queued, false),
            (.invalidResponse(.bodyCutShort("x")), .receiving, true), (.invalidRequest(.url("x")), .composing, false),
            (.bodyFailed(.file(path: "/x", reason: "x")), .composing, false),
            (.securityFailed(.certificateAuthorityFile("x")), .composing, false),
        ] as [(TrellisError.Reason, TrellisError.Phase, Bool)])
    func aMadeErrorAnswersTheQuestions(
        _ reason: TrellisError.Reason, _ phase: TrellisError.Phase, _ mayHaveSentBytes: Bool
    ) {
        let request = Request("http://a.example/x?token=secret", method: .post)
        let error = TrellisError(reason, of: request)
        #expect(error.phase == phase)
        #expect(error.mayHaveSentBytes == mayHaveSentBytes)
        #expect(error.method == .post)
        #expect(error.url?.contains("secret") == false)
        #expect(error.statusCode == nil)
        #expect(TrellisError(reason, of: request, phase: .received).phase == .received)
    }

    @Test func aMadeErrorHasItsResponse() {
        struct Cause: Error {}
        let response = Response(head: ResponseHead(status: .serviceUnavailable), url: "http://a.example/x")
        let error = TrellisError(
            .validationFailed(.status(503)), of: Request("http://a.example/x"), response: response,
            body: Data("later".utf8), underlying: Cause())
        #expect(error.kind == .unacceptableStatus)
        #expect(error.statusCode == 503)
        #expect(error.bodyExcerpt?.text == "later")
        #expect(error.isRetryable)
        #expect(error.underlying is Cause)
    }
}
