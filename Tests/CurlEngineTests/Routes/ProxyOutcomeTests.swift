import CCurl
import Testing

@testable import CurlEngine

/// A failure is that of the proxy only if the proxy has caused the failure.
struct ProxyOutcomeTests {
    /// A row of the test: the outcome of a transfer, and the expected failure of the proxy; `nil` if there is none.
    struct Row: Sendable, CustomTestStringConvertible {
        let code: CURLcode
        var status = 0
        var isConnected = true
        var isSecured = false
        var isSent = false
        let expected: EngineFailure.ProxyCause?

        var testDescription: String { "\(code.rawValue), \(status), \(isConnected), \(isSent)" }
    }

    static let rows: [Row] = [
        Row(code: CURLE_COULDNT_RESOLVE_PROXY, isConnected: false, expected: .nameResolution),
        Row(code: CURLE_COULDNT_CONNECT, isConnected: false, expected: .unreachable),
        Row(code: CURLE_OPERATION_TIMEDOUT, isConnected: false, expected: .unreachable),
        Row(code: CURLE_COULDNT_CONNECT, expected: .noTunnel),
        Row(code: CURLE_RECV_ERROR, expected: .noTunnel), Row(code: CURLE_SEND_ERROR, expected: .noTunnel),
        Row(code: CURLE_GOT_NOTHING, expected: .noTunnel), Row(code: CURLE_PROXY, expected: .noTunnel),
        Row(code: CURLE_WEIRD_SERVER_REPLY, expected: .noTunnel),
        // libcurl 7.88 and 8.23 report a refused tunnel with these codes.
        Row(code: CURLE_RECV_ERROR, status: 403, expected: .refused(status: 403, hasCredentials: false)),
        Row(code: CURLE_COULDNT_CONNECT, status: 407, expected: .refused(status: 407, hasCredentials: false)),
        Row(code: CURLE_PROXY, status: 502, expected: .refused(status: 502, hasCredentials: false)),
        // A kept tunnel was dead, and the new one is refused.
        Row(code: CURLE_RECV_ERROR, status: 502, isSent: true, expected: .refused(status: 502, hasCredentials: false)),
        // The tunnel was open.
        Row(code: CURLE_SSL_CONNECT_ERROR, status: 200, expected: nil),
        Row(code: CURLE_RECV_ERROR, status: 200, isSecured: true, expected: nil),
        Row(code: CURLE_RECV_ERROR, status: 200, isSent: true, expected: nil),
        // The head of a success was cut short, or too large.
        Row(code: CURLE_RECV_ERROR, status: 200, expected: .noTunnel),
        Row(code: CURLE_COULDNT_CONNECT, status: 204, expected: .noTunnel),
        Row(code: CURLcode(rawValue: 100), status: 200, expected: .noTunnel),  // CURLE_TOO_LARGE
        Row(code: CURLE_RECV_ERROR, isSent: true, expected: nil),
        Row(code: CURLE_GOT_NOTHING, isSent: true, expected: nil),
        Row(code: CURLE_OUT_OF_MEMORY, expected: nil), Row(code: CURLE_PEER_FAILED_VERIFICATION, expected: nil),
    ]

    @Test(arguments: rows)
    func theProxyIsBlamedForItsOwn(_ row: Row) {
        let failure = EngineFailure(row.code, detail: "why")
        let proxy = EngineConfiguration.ProxyServer(host: "p.example", port: 1, credentials: nil)
        let outcome = ProxyOutcome(connectStatus: row.status, isConnected: row.isConnected, isSecured: row.isSecured)
        let blamed = outcome.failure(failure, isSent: row.isSent, proxy: proxy)
        #expect(blamed?.kind == row.expected.map { .proxy(name: "p.example:1", $0) })
        if let blamed { #expect(blamed.message == "why" && blamed.code == failure.code) }
    }

    @Test func itKnowsWhetherThereWereCredentials() {
        let proxy = EngineConfiguration.ProxyServer(
            host: "[::1]", port: 80, credentials: .init(username: "a", password: "b", isDigest: true))
        let failure = EngineFailure(CURLE_RECV_ERROR, detail: "why")
        let blamed = ProxyOutcome(connectStatus: 407, isConnected: true).failure(failure, isSent: false, proxy: proxy)
        #expect(blamed?.kind == .proxy(name: "[::1]:80", .refused(status: 407, hasCredentials: true)))
    }
}
