import Testing

@testable import CurlEngine

/// The claims of names, which the gates of several engines make.
@Suite struct SharedLookupsTests {
    /// A gate that stores the ends of which it is notified.
    private final class Follower: LookupFollower {
        private let stored = Locked<[String]>([])

        /// The words for the ends.
        var ends: [String] { stored.withLock { $0 } }
        func lookupDidEnd(_ name: String, _ end: SharedLookups.End) {
            let word =
                switch end {
                case .resolved: "resolved"
                case .failed: "failed"
                case .unknown: "unknown"
                }
            stored.withLock { $0.append("\(name) \(word)") }
        }
    }

    private let lookups = SharedLookups()

    /// Returns the word for the result of a claim.
    private func claim(_ gate: Follower, at seconds: UInt64 = 0) -> String {
        let now = EngineInstant(nanoseconds: seconds * 1_000_000_000)
        return switch lookups.claim("a", for: gate, age: .seconds(56), now: now) {
        case .known: "known"
        case .leads: "leads"
        case .follows: "follows"
        }
    }

    @Test func oneGateLeadsAndTheOthersAreNotifiedOnce() {
        let gates = (0..<3).map { _ in Follower() }
        #expect(gates.map { claim($0) } == ["leads", "follows", "follows"])
        #expect(claim(gates[1]) == "follows")
        lookups.end("a", for: gates[1], .resolved)
        #expect(gates.map(\.ends) == [[], [], []])
        lookups.end("a", for: gates[0], .unknown)
        #expect(gates.map(\.ends) == [[], ["a unknown"], ["a unknown"]])
        #expect(claim(gates[2]) == "leads")
    }

    @Test func aNameIsKnownUntilItsLookupIsOld() {
        let gate = Follower()
        lookups.note("a", EngineInstant(nanoseconds: 0))
        // The addresses may be from the cache.
        lookups.note("a", EngineInstant(nanoseconds: 40_000_000_000))
        #expect(claim(gate, at: 55) == "known")
        #expect(claim(gate, at: 57) == "leads")
    }

    /// A name that is known has its addresses.
    @Test func theAddressesOfAHostAreAsOldAsTheirLookup() {
        func addresses(_ seconds: UInt64, _ family: TransferRoute.Family = .any) -> [IPAddress]? {
            let now = EngineInstant(nanoseconds: seconds * 1_000_000_000)
            return lookups.addresses(of: "a", family, age: .seconds(56), now: now)
        }
        lookups.setAddresses([.loopback4], of: "a", .any, now: EngineInstant(nanoseconds: 0))
        #expect(addresses(55) == [.loopback4] && addresses(55, .ipv6) == nil)
        #expect(addresses(57) == nil)
    }

    @Test func oldAddressesAreForgottenWhenThereAreMany() {
        func add(_ count: Int, at seconds: UInt64) {
            let now = EngineInstant(nanoseconds: seconds * 1_000_000_000)
            for number in 0..<count {
                lookups.setAddresses([.loopback4], of: "\(seconds)-\(number)", .any, now: now)
            }
        }
        add(500, at: 0)
        #expect(lookups.addressCount == 500)
        add(500, at: 100)
        #expect(lookups.addressCount == 500)
    }

    /// The leader knows of it itself.
    @Test func aFailureIsSharedByTheGatesThatFollow() {
        let gates = (0..<3).map { _ in Follower() }
        #expect(gates.map { claim($0) } == ["leads", "follows", "follows"])
        lookups.end("a", for: gates[0], .failed(.outOfMemory))
        #expect(gates.map(\.ends) == [[], ["a failed"], ["a failed"]])
    }
}
