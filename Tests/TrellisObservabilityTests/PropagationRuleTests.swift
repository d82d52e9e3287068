#if Observability
import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

@testable import TrellisObservability

/// Which hosts get the trace context, and which the baggage.
@Suite(.timeLimit(.minutes(3)))
struct PropagationRuleTests {
    private typealias Propagation = Observability.Propagation

    private static func hosts(_ patterns: String...) throws -> Propagation {
        .hosts(try patterns.map { try HostPattern($0) })
    }

    // MARK: The rule

    /// A rule, and what the hosts `api.corp.example` and `other.example` get by it: `T` the trace context, `B` the baggage.
    struct Rule: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let near: String
        let far: String
        let change: @Sendable (inout Observability) throws -> Void

        init(
            _ name: String, near: String, far: String,
            _ change: @escaping @Sendable (inout Observability) throws -> Void
        ) {
            (testDescription, self.near, self.far, self.change) = (name, near, far, change)
        }
    }

    static let rules: [Rule] = [
        Rule("default", near: "T", far: "T") { _ in },
        Rule("off", near: "", far: "") {
            $0.propagatesContext = false
            $0.baggagePropagation = .everywhere
        },
        Rule("nowhere", near: "", far: "") { $0.propagation = .nowhere },
        Rule("hosts", near: "TB", far: "") { $0.propagation = try hosts("**.corp.example") },
        Rule("several hosts", near: "TB", far: "TB") { $0.propagation = try hosts("other.example", "*.corp.example") },
        Rule("no hosts", near: "", far: "") { $0.propagation = .hosts([]) },
        Rule("function", near: "TB", far: "") { $0.propagatesContextToHost = { $0 == "api.corp.example" } },
        Rule("baggage everywhere", near: "TB", far: "TB") { $0.baggagePropagation = .everywhere },
        Rule("baggage to hosts", near: "TB", far: "T") { $0.baggagePropagation = try hosts("api.corp.example") },
        Rule("baggage nowhere", near: "T", far: "") {
            $0.propagation = try hosts("**.corp.example")
            $0.baggagePropagation = .nowhere
        },
        Rule("baggage alone", near: "B", far: "") {
            $0.propagation = .nowhere
            $0.baggagePropagation = try hosts("**.corp.example")
        },
        Rule("function and hosts", near: "", far: "") {
            $0.propagation = try hosts("**.corp.example")
            $0.propagatesContextToHost = { $0 == "other.example" }
        },
        Rule("function and baggage", near: "TB", far: "") {
            $0.baggagePropagation = .everywhere
            $0.propagatesContextToHost = { $0 == "api.corp.example" }
        },
    ]

    private static func letters(_ fields: ContextFields) -> String {
        (fields.contains(.trace) ? "T" : "") + (fields.contains(.baggage) ? "B" : "")
    }

    @Test(arguments: rules)
    func aRuleDecidesByTheHost(_ rule: Rule) throws {
        var settings = Observability()
        try rule.change(&settings)
        #expect(Self.letters(settings.fields(for: "api.corp.example")) == rule.near)
        #expect(Self.letters(settings.fields(for: "other.example")) == rule.far)
        let differs = rule.near != rule.far
        #expect(settings.dependsOnHost || !differs)
        #expect(settings.addsFields || rule.near + rule.far == "")
    }

    /// A host that is not known gets what every host gets.
    @Test(arguments: rules)
    func anUnknownHostGetsNothingOfHosts(_ rule: Rule) throws {
        var settings = Observability()
        try rule.change(&settings)
        let fields = Self.letters(settings.fields(for: nil))
        #expect(settings.dependsOnHost ? Set(fields).isSubset(of: rule.far) : fields == rule.far)
    }

    @Test func anObservationWithoutFieldsHasNoParts() {
        var settings = Observability()
        (settings.createsSpans, settings.metrics, settings.logLevels) = (false, [], .off)
        #expect(!settings.isEmpty)
        settings.propagation = .nowhere
        #expect(settings.isEmpty)
        settings.baggagePropagation = .everywhere
        #expect(!settings.isEmpty)
    }

    // MARK: The fields

    @Test(arguments: [
        "baggage", "Baggage", "BAGGAGE", "Correlation-Context", "jaeger-baggage", "uberctx-user", "ot-baggage-user",
    ])
    func baggage(_ name: String) throws {
        #expect(ContextFields(try #require(HTTPField.Name(name))) == .baggage)
    }

    @Test(arguments: [
        "traceparent", "tracestate", "b3", "x-b3-traceid", "uber-trace-id", "X-Amzn-Trace-Id", "sentry-trace",
        "ot-tracer-traceid", "baggage2", "x-baggage",
    ])
    func noBaggage(_ name: String) throws {
        #expect(ContextFields(try #require(HTTPField.Name(name))) == .trace)
    }

    // MARK: The host of a URL

    /// Spellings of a host, of which the connection's counts.
    @Test(arguments: [
        ("https://api.corp.example/", "api.corp.example"), ("https://API.Corp.Example:8443/a?b", "api.corp.example"),
        ("https://api.corp.example./", "api.corp.example"),
        ("https://api.corp.example@other.example/", "other.example"),
        ("https://other.example/@api.corp.example", "other.example"),
        ("https://other.example?@api.corp.example/", "other.example"),
        ("https://other.example#@api.corp.example/", "other.example"),
        ("https://a:b%40api.corp.example@other.example/", "other.example"), ("http://[2001:DB8::1]:80/", "2001:db8::1"),
        ("http://127.1/", "127.0.0.1"), ("https://b\u{fc}cher.example/", "xn--bcher-kva.example"),
    ])
    func theHostOfTheConnectionCounts(_ url: String, _ host: String) throws {
        #expect(try WireURL(parsing: url).bareHost == host)
    }
}
#endif
