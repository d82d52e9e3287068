import HTTPTypes

/// The media types that are accepted, from the ranges of an `Accept` or from a list of the caller's.
struct AcceptableTypes: Sendable, Hashable {
    private struct Range: Hashable {
        let range: MediaType
        /// Whether the weight of the range is zero (RFC 9110, section 12.4.2).
        let isRefused: Bool
    }

    private let ranges: [Range]

    init(_ types: some Sequence<String>) { self.init(types.flatMap(MediaType.list)) }

    private init(_ types: [MediaType]) {
        ranges = types.map { type in
            Range(range: type, isRefused: type["q"].flatMap(Double.init) == 0)
        }
    }

    /// Creates the types in the `Accept` of a request. Without an `Accept`, every type is accepted.
    init(of request: Request) { self.init([request.headers[.accept] ?? "*/*"]) }

    /// Returns whether a type is accepted. The most specific range that includes the type decides; of equally specific ranges, the
    /// first.
    ///
    /// - Parameter type: The content type; `nil` if the response has none, or a malformed one. `nil` is accepted only if `*/*` is.
    func accept(_ type: MediaType?) -> Bool {
        guard let type else { return ranges.contains { $0.range.essence == "*/*" && !$0.isRefused } }
        var best: Range?
        for candidate in ranges where type.isIncluded(in: candidate.range) {
            if candidate.range.specificity > best?.range.specificity ?? -1 { best = candidate }
        }
        return best.map { !$0.isRefused } ?? false
    }

    /// The accepted ranges without parameters, for error messages.
    var names: [String] { ranges.filter { !$0.isRefused }.map(\.range.essence) }
}

extension MediaType {
    /// The precision of a range: higher is more specific (RFC 9110, section 12.5.1).
    fileprivate var specificity: Int { (type == "*" ? 0 : 2) + (subtype == "*" ? 0 : 1) }
}
