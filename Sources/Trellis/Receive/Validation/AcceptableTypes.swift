import HTTPTypes

/// Which media types are accepted: a policy over the ranges of an `Accept`, or over a list of the caller's.
struct AcceptableTypes: Sendable, Hashable {
    private struct Range: Hashable {
        let range: MediaType
        /// A weight of zero (RFC 9110, section 12.4.2).
        let isRefused: Bool
    }

    private let ranges: [Range]

    init(_ types: some Sequence<String>) { self.init(types.flatMap(MediaType.list)) }

    private init(_ types: [MediaType]) {
        ranges = types.map { type in
            Range(range: type, isRefused: type["q"].flatMap(Double.init) == 0)
        }
    }

    /// What a request says that it accepts. Nothing said: everything.
    init(of request: Request) { self.init([request.headerFields[.accept] ?? "*/*"]) }

    /// Whether a type is accepted. The most specific range that includes it decides, the first of equals.
    ///
    /// - Parameter type: `nil` where the response does not say, or says something that is no type: then only who accepts
    ///   everything accepts that.
    func accept(_ type: MediaType?) -> Bool {
        guard let type else { return ranges.contains { $0.range.essence == "*/*" && !$0.isRefused } }
        var best: Range?
        for candidate in ranges where type.isIncluded(in: candidate.range) {
            if candidate.range.specificity > best?.range.specificity ?? -1 { best = candidate }
        }
        return best.map { !$0.isRefused } ?? false
    }

    var names: [String] { ranges.filter { !$0.isRefused }.map(\.range.essence) }
}

extension MediaType {
    fileprivate var specificity: Int { (type == "*" ? 0 : 2) + (subtype == "*" ? 0 : 1) }
}
