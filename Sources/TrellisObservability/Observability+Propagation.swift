#if Observability
import CurlEngine
import HTTPTypes
public import TrellisCore

extension Observability {
    /// The hosts that get fields of a context.
    public enum Propagation: Sendable, Hashable {
        /// Every host.
        case everywhere
        /// No host.
        case nowhere
        /// The hosts that match one of the patterns, such as `**.example.com` or `10.0.0.7`; a URL that names the same server otherwise
        /// gets nothing.
        case hosts([HostPattern])

        fileprivate func admits(_ host: String?) -> Bool {
            switch self {
            case .everywhere: true
            case .nowhere: false
            case .hosts(let patterns): host.map { host in patterns.contains { $0.matches(host) } } ?? false
            }
        }

        fileprivate var isByHost: Bool { if case .hosts = self { true } else { false } }
    }

    /// The hosts that get baggage. A program that has named the hosts of its context has decided about the baggage as well.
    private var baggage: Propagation {
        if let baggagePropagation { return baggagePropagation }
        return propagation == .everywhere && propagatesContextToHost == nil ? .nowhere : propagation
    }

    /// Whether some host may get fields.
    var addsFields: Bool { propagatesContext && !(propagation == .nowhere && baggage == .nowhere) }

    /// Whether the host of a request decides about its fields.
    var dependsOnHost: Bool { propagatesContextToHost != nil || propagation.isByHost || baggage.isByHost }

    /// Returns the kinds of fields that a host gets.
    ///
    /// - Parameter host: The host in lower case and in ASCII form, without brackets and without a dot at its end; `nil` if it does not
    ///   matter, or is not known.
    func fields(for host: String?) -> ContextFields {
        guard propagatesContext else { return [] }
        if let propagatesContextToHost {
            guard let host, propagatesContextToHost(host) else { return [] }
        }
        var fields: ContextFields = []
        if propagation.admits(host) { fields.insert(.trace) }
        if baggage.admits(host) { fields.insert(.baggage) }
        return fields
    }
}

/// The kinds of fields that a tracer adds to requests.
struct ContextFields: OptionSet, Hashable {
    let rawValue: Int

    /// The fields that are no baggage.
    static let trace = ContextFields(rawValue: 1 << 0)
    /// The fields with values of the program, which say nothing about the trace.
    static let baggage = ContextFields(rawValue: 1 << 1)

    init(rawValue: Int) { self.rawValue = rawValue }

    /// The kind of a field.
    init(_ name: HTTPField.Name) {
        let name = name.canonicalName
        let isBaggage =
            Self.baggageNames.contains { name.hasSameBytes(as: $0) }
            || Self.baggagePrefixes.contains { name.hasBytePrefix($0) }
        self = isBaggage ? .baggage : .trace
    }

    /// The name of W3C Baggage, its name in the drafts, and the field of Jaeger that a person sets.
    private static let baggageNames = ["baggage", "correlation-context", "jaeger-baggage"]
    /// The beginnings of the names in Jaeger's and OpenTracing's formats, which have a field for each value.
    private static let baggagePrefixes = ["uberctx-", "ot-baggage-"]
}

extension WireURL {
    /// The host in lower case, without brackets and without a dot at its end.
    var bareHost: String {
        let host = name.lowercasedASCII()
        return host.hasBytePrefix("[") ? String(Substring(host.utf8.dropFirst().dropLast())) : host
    }
}
#endif
