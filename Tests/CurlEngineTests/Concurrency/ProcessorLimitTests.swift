import Testing

@testable import CurlEngine

/// The limit of control groups on the processor time of a process.
struct ProcessorLimitTests {
    /// The limit of a process: the lines of its groups, and the files of the groups.
    private static func limit(_ groups: String, _ files: [String: String]) -> Double? {
        ProcessorLimit.processors(groups: groups) { files[$0] }
    }

    @Test(
        arguments: [
            ("/", "/sys/fs/cgroup/cpu.max", 2.0), ("/a/b", "/sys/fs/cgroup/a/b/cpu.max", 2.0),
            ("/a/b", "/sys/fs/cgroup/a/cpu.max", 2.0), ("/a/b", "/sys/fs/cgroup/cpu.max", 2.0),
            ("/a/b", "/sys/fs/cgroup/b/cpu.max", nil), ("/a", "/sys/fs/cgroup/a/c/cpu.max", nil),
        ] as [(String, String, Double?)])
    func theLimitsOfTheGroupAndOfThoseAboveHold(_ group: String, _ file: String, _ limit: Double?) {
        #expect(Self.limit("0::\(group)\n", [file: "200000 100000\n"]) == limit)
    }

    @Test func theLowestLimitHolds() {
        let files = ["/sys/fs/cgroup/a/cpu.max": "150000 100000", "/sys/fs/cgroup/cpu.max": "50000 100000"]
        #expect(Self.limit("0::/a", files) == 0.5)
        #expect(Self.limit("0::/a", files.mapValues { $0 == "50000 100000" ? "max 100000" : $0 }) == 1.5)
    }

    @Test(arguments: ["4:cpu:/a", "4:cpu,cpuacct:/a", "9:name=systemd:/\n4:cpuacct,cpu:/a\n0::/"])
    func aGroupOfVersion1HasTwoFiles(_ groups: String) {
        let folder = "/sys/fs/cgroup/cpu/a"
        let files = ["\(folder)/cpu.cfs_quota_us": "30000\n", "\(folder)/cpu.cfs_period_us": "10000\n"]
        #expect(Self.limit(groups, files) == 3)
        #expect(Self.limit(groups, files.filter { $0.value == "30000\n" }) == nil)
        #expect(Self.limit(groups, files.mapValues { $0 == "30000\n" ? "-1\n" : $0 }) == nil)
    }

    @Test(arguments: ["max 100000", "max", "", "0 100000", "100000 0", "100000", "-1 100000", "nan 1", "1 2 3", "x y"])
    func aFileWithoutANumberIsNoLimit(_ text: String) {
        #expect(Self.limit("0::/a", ["/sys/fs/cgroup/a/cpu.max": text]) == nil)
    }

    @Test(arguments: ["", "0", "0:", "4:cpuset:/a", "::", "0::/../a", "\n\n"])
    func otherGroupsHaveNoLimit(_ groups: String) {
        #expect(Self.limit(groups, ["/sys/fs/cgroup/a/cpu.max": "1 1"]) == nil)
    }

    /// A machine that runs tests may have a limit, which is positive.
    @Test func theLimitOfThisProcessIsPositive() { #expect(ProcessorLimit.processors ?? 1 > 0) }
}
