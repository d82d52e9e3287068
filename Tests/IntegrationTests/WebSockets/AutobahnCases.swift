import Foundation

/// The cases of the Autobahn test suite that run. Those without compression all run, always.
struct AutobahnCases {
    /// The number of cases without compression.
    static let framingCount = 301

    /// The five kinds of content, and a few large messages.
    static let compression = AutobahnCases(
        groups: ["12.1", "12.2", "12.3", "12.4", "12.5"], others: ["12.1.18", "12.2.10", "12.5.17"])
    /// The parameters of clients that keep their context.
    static let parameters = AutobahnCases(groups: ["13.1", "13.3", "13.4"])
    /// The parameters of clients that keep no context.
    static let withoutContext = AutobahnCases(groups: ["13.2", "13.5", "13.6", "13.7"])
    static let all = [compression, parameters, withoutContext]

    /// The extent of a run.
    enum Extent: CaseIterable {
        /// All 216 cases about compression, with `TRELLIS_AUTOBAHN=all`.
        case complete
        /// The cases in CI, with a libcurl that supports HTTP/3 and with one that does not: together they run most cases.
        case currentLibcurl, oldLibcurl
        /// The cases in local runs, and with a sanitizer, with which the others would take many minutes.
        case small

        /// The extent of this run.
        static var present: Extent {
            let environment = ProcessInfo.processInfo.environment
            if environment["TRELLIS_AUTOBAHN"] == "all" { return .complete }
            let isPlain = environment["TSAN_OPTIONS"] == nil && environment["ASAN_OPTIONS"] == nil
            guard environment["CI"] == "true", isPlain else { return .small }
            return RunningLibcurl.hasHTTP3 ? .currentLibcurl : .oldLibcurl
        }
    }

    let groups: [String]
    /// The cases that run in addition to those of the groups.
    var others: [String] = []

    /// The cases of this run.
    var running: [String] { cases(.present) }

    /// Returns the cases of a run, without repetition, the largest messages first.
    func cases(_ extent: Extent) -> [String] {
        let cases = Self.allNumbers.flatMap { number in
            groups.filter { Self.numbers(of: $0, extent).contains(number) }.map { "\($0).\(number)" }
        }
        return others.filter { !cases.contains($0) } + cases
    }

    /// The numbers of the cases of a group about compression, ordered by the size of their messages, the largest first.
    ///
    /// Each group is about one kind of content (12.1 to 12.5) or one set of parameters (13.1 to 13.7). A case sends a thousand messages,
    /// each after the reply to the one before: 1 to 10 in one frame, of 16 bytes to 128 KiB, the others in fragments.
    private static let allNumbers = [10, 15, 16, 17, 18, 9, 14, 8, 13, 7, 12, 6, 11, 5, 4, 3, 2, 1]
    /// The cases with messages of up to 8 KiB.
    private static let small: Set = [1, 2, 3, 4, 5, 6, 11]
    /// The cases with messages of up to 32 KiB.
    private static let medium = small.union([7, 8, 12, 13])

    /// Returns the numbers of the cases of a group that run.
    ///
    /// Nearly all of the time is spent in zlib, by both sides, and most of that with the largest messages of 12.2, 12.3 and 12.5, whose
    /// content is hard to compress: a case takes ten seconds of a processor. All cases would take about four minutes with each libcurl.
    /// Each libcurl therefore runs about a half of the cases of more than 8 KiB in CI, and 19 cases of 64 and 128 KiB, all of these three
    /// groups, are left out.
    private static func numbers(of group: String, _ extent: Extent) -> Set<Int> {
        switch (group, extent) {
        case (_, .complete): Set(allNumbers)
        case ("12.1", .currentLibcurl), ("12.4", .currentLibcurl): Set(allNumbers)
        case ("12.2", .currentLibcurl), ("12.3", .currentLibcurl), ("12.5", .currentLibcurl): medium
        case (_, .oldLibcurl) where group.hasPrefix("13."): Set(allNumbers)
        case (_, .small), (_, .currentLibcurl), (_, .oldLibcurl): small
        }
    }
}
