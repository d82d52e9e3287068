import Testing

@testable import Trellis

/// The cost of responses that set many cookies.
struct CookieCostTests {
    /// Returns the time that an insecure response takes whose fields have the names of secure cookies of other domains.
    ///
    /// - Parameter count: The number of secure cookies, each of another name and domain.
    private static func time(count: Int) throws -> Duration {
        var store = CookieStore(suffixes: .test)
        let now = WallClock().now
        for number in 0..<count {
            let url = try CookieStore.url("https://host-\(number).example.org/")
            _ = store.receive(["secure-\(number)=1; Secure"], from: url, at: now)
        }
        let fields = (0..<600).map { "secure-\($0 % count)=1; Path=/\($0)" }
        let url = try CookieStore.url("http://other.example.org/")
        return ContinuousClock().measure { _ = store.receive(fields, from: url, at: now) }
    }

    /// A field is not compared with the secure cookies of all domains.
    @Test func aFieldWithTheNameOfASecureCookieIsCheapInAFullJar() throws {
        let few = try (0..<3).map { _ in try Self.time(count: 60) }.min() ?? .zero
        let many = try (0..<3).map { _ in try Self.time(count: 2_400) }.min() ?? .zero
        // The number of tests is the same. Comparisons with all domains would take forty times as long.
        #expect(many < few * 3)
    }
}
