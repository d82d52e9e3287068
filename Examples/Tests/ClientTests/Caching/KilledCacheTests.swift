import Testing

/// A cache whose clients are killed.
@Suite(.timeLimit(.minutes(60))) struct KilledCacheTests {
    @Test func noKillLeavesAWrongByte() async throws {
        let folder = try TemporaryFolder()
        let kills = Programs.isFull ? "500" : "50"
        try await expectAgreement(of: "killed_cache.py", [Programs.trellis, folder["cache"], kills])
    }
}
