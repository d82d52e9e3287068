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
}
