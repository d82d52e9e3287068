#if Observability
import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

@testable import TrellisObservability

/// The parts of a request that attributes are made of.
struct ObservedRequestTests {
    @Test(arguments: [
        ("http://example.com/", "example.com", 80), ("https://example.com", "example.com", 443),
        ("https://Example.COM:8443/A?b#c", "example.com", 8443), ("http://example.com?x=http://y:1", "example.com", 80),
        ("http://user:pa:ss@example.com/", "example.com", 80), ("http://a@b@example.com:81/", "example.com", 81),
        ("http://[2001:DB8::1]/", "2001:db8::1", 80), ("https://[::1]:8080/", "::1", 8080),
        ("http://user@[::1]:1/", "::1", 1), ("http://example.com:/", "example.com", 80),
        ("http://127.0.0.1:8000#x", "127.0.0.1", 8000), ("", "", 0), ("example.com", "example.com", 0),
        ("http://", "", 80), ("http://[", "[", 80),
    ])
    func theServerIsThatOfTheURL(_ url: String, _ address: String, _ port: Int) {
        #expect(ServerAddress(of: url) == ServerAddress(address: address, port: port))
    }

    @Test(arguments: [
        ("https://ada:secret@example.com/a?b=2#f", "https://REDACTED:REDACTED@example.com/a?b=2"),
        ("https://ada@example.com/", "https://REDACTED:REDACTED@example.com/"),
        ("https://example.com/a?b=2", "https://example.com/a?b=2"),
        ("https://example.com/?AWSAccessKeyId=1&Signature=2&sig=3", secrets("AWSAccessKeyId", "Signature", "sig")),
        (
            "https://example.com/?X-Goog-Signature=1&X-Amz-Signature=2&X-Amz-Credential=3&X-Amz-Security-Token=4",
            secrets("X-Goog-Signature", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token")
        ),
    ])
    func theURLHasNoSecrets(_ url: String, _ redacted: String) {
        #expect(ObservedRequest.redacted(url) == redacted)
    }

    private static func secrets(_ names: String...) -> String {
        "https://example.com/?" + names.map { "\($0)=REDACTED" }.joined(separator: "&")
    }

    @Test func theKnownMethodsAreThoseOfTheEnvironment() {
        let name = "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"
        #expect(Observability.knownMethods(environment: [name: "GET, PURGE,X"]) == ["GET", "PURGE", "X"])
        let known = Observability.knownMethods(environment: [:])
        #expect(known == ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"])
    }

    @Test func aDurationIsInSeconds() {
        #expect(Duration.milliseconds(1_500).inSeconds == 1.5)
    }
}

/// The cost of an observation that has nothing to observe.
@Suite(.timeLimit(.minutes(3)))
struct NothingInstalledTests {
    @Test func anObservationWithoutPartsIsNotInstalled() {
        var configuration = SessionConfiguration()
        configuration.observe()
        #expect(configuration.steps.exchangeObserver != nil)
        var observability = Observability()
        (observability.createsSpans, observability.propagatesContext) = (false, false)
        (observability.metrics, observability.logLevels) = ([], .off)
        configuration.observe(with: observability)
        #expect(configuration.steps.exchangeObserver == nil && configuration.steps.application.isEmpty)
    }

    @Test func theSpanAroundTheCallIsInstalledOnce() {
        var configuration = SessionConfiguration()
        for isOn in [true, true, false, true] {
            configuration.steps.application.append(RequestCoalescing())
            configuration.observe(with: .with { $0.createsCallSpans = isOn })
        }
        #expect(configuration.steps.application.map { $0 is CallSpan } == [true, false, false, false, false])
    }

    /// Without backends, a request is passed on as it is, and nothing is kept. The log of a program that has set none writes warnings.
    @Test func aRequestWithoutBackendsIsNotObserved() async throws {
        let instrumentation = ExchangeInstrumentation(.with { $0.logLevels.failure = nil })
        let transport = MockTransport { _ in .text("x") }
        var configuration = SessionConfiguration()
        configuration.steps.adapters.append(
            Adapter { request, context in
                let (sent, observation) = instrumentation.begin(request, context: context)
                #expect(observation == nil && sent.headers == request.headers)
                #expect(context.countExchange() == 0)
                return request
            })
        _ = try await Session(configuration: configuration, transport: transport).data("http://example.com/")
        #expect(transport.startedCount == 1)
    }
}
#endif
