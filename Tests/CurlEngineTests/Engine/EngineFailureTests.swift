import CCurl
import Testing

@testable import CurlEngine

/// The text of a failure is libcurl's, without the blanks at its end.
struct EngineFailureTests {
    @Test(
        arguments: [
            ("SSL_connect: x in connection to 127.0.0.1:8101   ", "SSL_connect: x in connection to 127.0.0.1:8101"),
            ("why \n\t", "why"), (" a  b", " a  b"), ("é ", "é"),
        ])
    func blanksAtTheEndAreLeftOut(_ detail: String, _ message: String) {
        #expect(EngineFailure(CURLE_SSL_CONNECT_ERROR, detail: detail).message == message)
    }

    /// Without a text, libcurl's description of the code is the text.
    @Test(arguments: ["", " ", "\n"])
    func aTextOfBlanksIsNone(_ detail: String) {
        #expect(EngineFailure(CURLE_SSL_CONNECT_ERROR, detail: detail).message == "SSL connect error")
    }

    /// A server without HTTP/1.1 refuses a request that does not demand HTTP/2.
    @Test func theAlertAboutTheVersionsOfHTTPIsExplained() {
        let detail = "error:0A000460:SSL routines::tlsv1 alert no application protocol"
        let text = EngineFailure(CURLE_SSL_CONNECT_ERROR, detail: detail).message
        #expect(text == "\(detail); the peer does not speak the versions of HTTP that the request offers")
    }

    /// That libcurl cannot rewind the body, over HTTP/3, is the consequence of a lost connection.
    @Test(
        arguments: [
            ("Send failure: Connection reset by peer", "Send failure: Connection reset by peer"),
            ("OpenSSL SSL_write: Broken pipe, errno 32", "OpenSSL SSL_write: Broken pipe, errno 32"),
            ("necessary data rewind wasn't possible", "the server closed the connection without a response"),
            ("seek callback returned error 1", "the server closed the connection without a response"),
            ("", "the server closed the connection without a response"),
        ])
    func aBodyThatCannotBeRewoundIsNoReason(_ detail: String, _ message: String) {
        let failure = EngineFailure(CURLE_SEND_FAIL_REWIND, detail: detail)
        #expect(failure.kind == .bodyNotReplayable)
        #expect(failure.message == message)
    }
}
