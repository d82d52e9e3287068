import Foundation
import TestSupport

/// The cases of the Autobahn test suite that run.
struct AutobahnCases {
    /// The number of cases without compression. The everyday run leaves out all but the smallest of group 9, and the four of group 6.4, in
    /// which the runner pauses for seconds.
    static let framingCount = 301
    /// The cases of group 9, whose messages have up to 16 MiB, in the everyday run: the smallest of each kind.
    static let smallestMessages = (1...8).map { "9.\($0).1" }

    /// The cases without compression in this run, for four runners.
    static var framing: [[String]] {
        let isEveryday = Extent.present == .everyday
        return [
            ["1.*", "2.*", "3.*", "4.*"], ["5.*", "7.*", "10.*"], isEveryday ? ["6.*", "-6.4.*"] : ["6.*"],
            isEveryday ? smallestMessages : ["9.*"],
        ]
    }
    /// The number of the cases without compression in this run.
    static var framingRunning: Int {
        Extent.present == .everyday ? framingCount - 54 + smallestMessages.count - 4 : framingCount
    }

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
        /// The cases with `Tests/run.sh --all`, with a libcurl that supports HTTP/3 and with one that does not: together they run most cases.
        case currentLibcurl, oldLibcurl
        /// The cases with a sanitizer, with which the others would take many minutes.
        case small
        /// The cases in the everyday run: the smallest of each group, and two with fragments.
        case everyday

        /// The extent of this run.
        static var present: Extent {
            let environment = ProcessInfo.processInfo.environment
            if environment["TRELLIS_AUTOBAHN"] == "all" { return .complete }
            guard Scale.isFull else { return .everyday }
            guard environment["TSAN_OPTIONS"] == nil, environment["ASAN_OPTIONS"] == nil else { return .small }
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
        return extent == .everyday ? cases : others.filter { !cases.contains($0) } + cases
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
    /// Each libcurl therefore runs about a half of the cases of more than 8 KiB, and 19 cases of 64 and 128 KiB, all of these three
    /// groups, are left out.
    private static func numbers(of group: String, _ extent: Extent) -> Set<Int> {
        switch (group, extent) {
        case (_, .complete): Set(allNumbers)
        case ("12.1", .everyday), ("13.1", .everyday): [1, 11]
        case (_, .everyday): [1]
        case ("12.1", .currentLibcurl), ("12.4", .currentLibcurl): Set(allNumbers)
        case ("12.2", .currentLibcurl), ("12.3", .currentLibcurl), ("12.5", .currentLibcurl): medium
        case (_, .oldLibcurl) where group.hasPrefix("13."): Set(allNumbers)
        case (_, .small), (_, .currentLibcurl), (_, .oldLibcurl): small
        }
    }
}
