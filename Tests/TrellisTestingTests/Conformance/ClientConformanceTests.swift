import Testing
import TrellisTesting

/// The cases that Apple's proposal for a standard HTTP client asks of clients (apple/swift-http-api-proposal, `HTTPClientConformance`) have
/// their counterparts.
struct ClientConformanceTests {
    /// The cases by their names in the proposal, each with the name of its counterpart.
    static let counterparts = [
        "testNotHTTP": "refuses a response that is not HTTP",
        "testBadHTTPCase": "refuses a status line whose protocol is in another case",
        "testNoReason": "accepts a status line without a reason phrase",
        "test204WithContentLength": "expects no body after a 204 with a length",
        "test304WithContentLength": "expects no body after a 304 with a length",
        "testIncompleteBody": "reports a body that is shorter than its length",
        "testNoLengthHint": "reads a body without a length to the end of the connection",
        "testConflictingContentLength": "refuses a list of different lengths",
        "testOk": "hands on an empty response to every method",
        "testEchoString": "sends streamed bodies whole and in order, with and without a length",
        "testGzip": "decodes a body in gzip if it accepts the coding",
        "testDeflate": "decodes a body in deflate if it accepts the coding",
        "testBrotli": "decodes a body in br if it accepts the coding",
        "testIdentity": "hands on a body that is not coded although codings are accepted",
        "testCustomHeader": "sends method, target and fields",
        "testBasicRedirect": "follows a redirect with the same method",
        "testNotFound": "hands on any status as an answer",
        "testStatusOutOfRangeButValid": "hands on a status that belongs to no class",
        "testStressTest": "answers many requests at once, each with its own answer",
        "testGetConvenience": "sends a GET without a body if only a URL is given",
        "testPostConvenience": "sends a POST if only a URL and a body are given",
        "testCancelPreHeaders": "ends an exchange whose task is cancelled while it waits",
        "testCancelPreBody": "ends an exchange whose task is cancelled while it reads the body",
        "testEcho1MBBody": "sends a stream of a megabyte in one chunk whole",
        "testUnderRead": "goes on after a reader that stops at the first byte",
        "testDripRead": "hands on a megabyte to a reader of single bytes",
        "testClientSendsEmptyHeaderValue": "sends a field with an empty value",
        "testInfiniteRedirect": "ends redirects that have no end",
        "testHeadWithContentLength": "expects no body after a head with a length if the method is HEAD",
        "testServerSendsMultiValueHeader": "hands on status, fields in order, repeated fields and body",
        "testClientSendsMultiValueHeader": "sends method, target and fields",
        "testBasicCookieSetAndUse": "sends back the cookie that a response has set",
        "testEchoInterleave": "receives an echo of each byte before it sends the next one",
        "testSpeakInterleave": "sends an echo of each byte, until the response ends first",
        "testEmptyChunkedBody": "sends a stream without bytes as an empty body",
        "testURLParams": "sends query items in order, repeated and empty ones too",
        "testETag": "validates a stored response by its entity tag, and takes over the fields of the 304",
        "testTrailerRead": "hands on the fields after the body",
        "testTrailerWrite": "sends the fields behind a request's body",
    ]

    @Test func theProposalsCasesHaveCounterparts() {
        let names = Set(TransportConformance.cases.map(\.name))
        #expect(names.count == TransportConformance.cases.count)
        #expect(Self.counterparts.filter { !names.contains($0.value) } == [:])
        #expect(Self.counterparts.count == 39)
    }
}
