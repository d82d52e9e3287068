import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisNameServices

/// The text of a script while it is fresh, and its results.
@Suite(.timeLimit(.minutes(3)))
struct PACStateTests {
    /// An access that counts, and does not evaluate.
    private final class Access: ProxyScriptAccess {
        struct State {
            var seconds = 1
            var loads = 0
            var results = 0
            var error: TrellisError?
            var failure: ProxyScriptRunner.Failure?
            var lifetime: Duration? = .seconds(600)
            var cancelled = 0
        }

        let state = Locked(State())
        /// Opens when loading may go on; `nil` if it need not wait.
        private let gate: LoopbackServer.Gate?
        /// Opens when waits end.
        let patience = LoopbackServer.Gate()
        /// The number of loadings that do not wait for the gate.
        private let first: Int

        init(gate: LoopbackServer.Gate? = nil, first: Int = 0) { (self.gate, self.first) = (gate, first) }

        var now: EngineInstant {
            EngineInstant(nanoseconds: 0).advanced(by: .seconds(state.withLock { $0.seconds }))
        }

        func fetch(_ url: String) async throws -> (Data, HTTPFields) { throw CancellationError() }

        func load() async throws -> LoadedProxyScript {
            let (number, error, lifetime) = state.withLock { state in
                state.loads += 1
                return (state.loads, state.error, state.lifetime)
            }
            if number > first {
                do {
                    try await gate?.opened()
                } catch {
                    state.withLock { $0.cancelled += 1 }
                    throw error
                }
            }
            if let error { throw error }
            return LoadedProxyScript(text: "script \(number)", lifetime: lifetime)
        }

        func wait(for duration: Duration) async throws {
            try await patience.opened()
            try Task.checkCancellation()
        }

        func evaluate() throws -> String {
            try state.withLock { state in
                if let failure = state.failure { throw failure }
                state.results += 1
                return "PROXY p\(state.results):1"
            }
        }

        func pass(_ seconds: Int) { state.withLock { $0.seconds += seconds } }
        var counts: [Int] { state.withLock { [$0.loads, $0.results] } }
        /// The number of loadings that were cancelled while they waited.
        var cancelledCount: Int { state.withLock { $0.cancelled } }
    }

    private let state = PACState(
        .text("unused"),
        load: { _, access in try await #require(access as? Access).load() },
        evaluate: { _, _, access in try #require(access as? Access).evaluate() })

    private func ask(_ access: Access, _ url: String = "http://a.example/") async throws -> String {
        let wire = try WireURL(parsing: url)
        return try await state.decision(for: wire, credentials: [], access: access).description
    }

    @Test(
        arguments: [
            (.missingLibrary, .unsupported, "libpacparser.so.1; its package is libpacparser1 in Debian"),
            (.hung, .proxy, "an earlier evaluation of a script has not ended"),
            (.overdue, .proxy, "the PAC script names no proxies: it has not returned within 10 s"),
            (.script("line 3"), .proxy, "the PAC script names no proxies: line 3"),
        ] as [(ProxyScriptRunner.Failure, TrellisError.Kind, String)])
    func aFailureSaysWhatToDo(_ failure: ProxyScriptRunner.Failure, _ kind: TrellisError.Kind, _ text: String) async {
        let access = Access()
        access.state.withLock { $0.failure = failure }
        let error = await #expect(throws: TrellisError.self) { _ = try await ask(access) }
        #expect(error?.kind == kind && error?.description.hasSuffix(text) == true)
        #expect(error?.isRetryable == [.hung, .overdue].contains(failure))
    }

    @Test func aResultIsUsedForAMinute() async throws {
        let access = Access()
        #expect(try await ask(access) == "proxy http://p1:1: from the PAC script")
        access.pass(59)
        #expect(try await ask(access, "http://a.example/other") == "proxy http://p1:1: from the PAC script")
        #expect(try await ask(access, "https://a.example/") == "proxy http://p2:1: from the PAC script")
        access.pass(1)
        #expect(try await ask(access) == "proxy http://p3:1: from the PAC script")
        #expect(access.counts == [1, 3])
    }

    @Test func theScriptIsLoadedAgainAfterItsLifetime() async throws {
        let access = Access()
        _ = try await ask(access)
        access.pass(599)
        _ = try await ask(access)
        #expect(access.counts == [1, 2])
        access.pass(1)
        // The results of the old script are not those of the new one.
        _ = try await ask(access)
        #expect(access.counts == [2, 3])
    }

    @Test func theOldScriptIsUsedIfTheNewOneCannotBeLoaded() async throws {
        let access = Access()
        _ = try await ask(access)
        access.state.withLock { $0.error = TrellisError(.proxyFailed(.script("gone", mayBeTransient: true))) }
        access.pass(600)
        _ = try await ask(access)
        access.pass(59)
        _ = try await ask(access)
        #expect(access.counts[0] == 2)
        access.pass(1)
        _ = try await ask(access)
        #expect(access.counts[0] == 3)
    }

    @Test func aFailureIsNotKept() async throws {
        let access = Access()
        let error = TrellisError(.proxyFailed(.script("gone", mayBeTransient: true)))
        access.state.withLock { $0.error = error }
        await #expect(throws: TrellisError.self) { try await ask(access) }
        access.state.withLock { $0.error = nil }
        #expect(try await ask(access) == "proxy http://p1:1: from the PAC script")
        #expect(access.counts == [2, 1])
    }

    @Test func aScriptInMemoryIsFreshForever() async throws {
        let access = Access()
        access.state.withLock { $0.lifetime = nil }
        _ = try await ask(access)
        access.pass(1_000_000)
        _ = try await ask(access)
        #expect(access.counts == [1, 2])
    }

    @Test func thisMachineIsReachedDirectly() async throws {
        let access = Access()
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"] {
            #expect(
                try await ask(access, "http://\(host):81/").hasSuffix("is this machine, so the PAC script is not asked")
            )
        }
        #expect(access.counts == [0, 0])
    }

    /// Tasks at the same time wait for one loading. One that is cancelled leaves alone.
    @Test func oneLoadingForAll() async throws {
        let gate = LoopbackServer.Gate()
        let access = Access(gate: gate)
        let tasks = (0..<20).map { index in
            Task.immediate { try await ask(access, "http://h\(index).example/") }
        }
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        gate.open()
        for task in tasks.dropFirst() { #expect(try await task.value.hasSuffix("from the PAC script")) }
        #expect(access.counts == [1, 19])
    }

    @Test func theLastTaskEndsTheLoading() async throws {
        let access = Access(gate: LoopbackServer.Gate())
        for _ in 1...2 {
            let tasks = (0..<2).map { _ in Task.immediate { try await ask(access) } }
            for task in tasks { task.cancel() }
            for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        }
        // A new loading begins, although the gate is closed for good.
        #expect(access.counts[0] <= 2)
    }

    @Test func whileAScriptIsLoadedAgainTheOldOneIsUsedAfterAMoment() async throws {
        let gate = LoopbackServer.Gate()
        let access = Access(gate: gate, first: 1)
        #expect(try await ask(access) == "proxy http://p1:1: from the PAC script")
        access.pass(601)
        let waiting = Task { try await ask(access) }
        while access.counts[0] < 2, !Task.isCancelled { await Task.yield() }
        access.patience.open()
        #expect(try await waiting.value == "proxy http://p2:1: from the PAC script")
        // Further requests do not wait at all.
        #expect(try await ask(access, "http://b.example/") == "proxy http://p3:1: from the PAC script")
        gate.open()
        access.pass(2)
        // The new script has no results yet.
        while try await ask(access) != "proxy http://p4:1: from the PAC script", !Task.isCancelled {
            await Task.yield()
        }
        #expect(access.counts == [2, 4])
    }

    /// The results may depend on the machine's addresses, and another network may have another script, unless the script is a text.
    @Test(arguments: [(.seconds(600), 2), (nil, 1)] as [(Duration?, Int)])
    func aChangeOfTheNetworkForgetsResults(_ lifetime: Duration?, _ loads: Int) async throws {
        let access = Access()
        access.state.withLock { $0.lifetime = lifetime }
        _ = try await ask(access)
        state.networkDidChange()
        for _ in 1...2 { #expect(try await ask(access) == "proxy http://p2:1: from the PAC script") }
        #expect(access.counts == [loads, 2])
    }

    /// A loading that was begun in another network may never end, and its script may be another one.
    @Test func aRequestAfterAChangeOfTheNetworkDoesNotWaitForAnEarlierLoading() async throws {
        let gate = LoopbackServer.Gate()
        let old = Access(gate: gate), new = Access()
        new.state.withLock { ($0.loads, $0.results) = (1, 10) }
        let early = Task { try await ask(old, "http://b.example/") }
        while old.counts[0] < 1, !Task.isCancelled { await Task.yield() }
        state.networkDidChange()
        #expect(try await ask(new) == "proxy http://p11:1: from the PAC script")
        gate.open()
        #expect(try await early.value == "proxy http://p1:1: from the PAC script")
        // Neither the earlier script nor its result is kept.
        #expect(try await ask(new, "http://b.example/") == "proxy http://p12:1: from the PAC script")
        #expect(old.counts == [1, 1] && new.counts == [2, 12])
    }

    @Test(arguments: [false, true])
    func aScriptThatWasLoadedInAnotherNetworkIsLoadedAgain(_ fails: Bool) async throws {
        let gate = LoopbackServer.Gate()
        let access = Access(gate: gate, first: 1)
        _ = try await ask(access)
        access.pass(600)
        if fails {
            access.state.withLock { $0.error = TrellisError(.proxyFailed(.script("gone", mayBeTransient: true))) }
        }
        let early = Task { try await ask(access) }
        while access.counts[0] < 2, !Task.isCancelled { await Task.yield() }
        state.networkDidChange()
        gate.open()
        _ = try await early.value
        _ = try await ask(access)
        #expect(access.counts[0] == 3)
    }

    /// The patience of a request from before the change ends while the script is loaded again.
    @Test func theScriptOfAnotherNetworkIsNotFreshAgain() async throws {
        let gate = LoopbackServer.Gate()
        let old = Access(gate: gate, first: 1), new = Access(gate: gate), later = Access(gate: gate)
        _ = try await ask(old)
        for access in [old, new, later] { access.pass(600) }
        let early = Task { try await ask(old) }
        while old.counts[0] < 2, !Task.isCancelled { await Task.yield() }
        state.networkDidChange()
        let late = Task { try await ask(new) }
        while new.counts[0] < 1, !Task.isCancelled { await Task.yield() }
        old.patience.open()
        _ = try await early.value
        let latest = Task.immediate { try await ask(later) }
        #expect(later.counts == [0, 0])
        gate.open()
        for task in [late, latest] { _ = try await task.value }
        #expect(new.counts[0] + later.counts[0] == 1)
    }

    /// Only the request that waits for it needs a loading of another network.
    @Test func aLoadingWithoutRequestsEndsWithItsNetwork() async throws {
        let access = Access(gate: LoopbackServer.Gate(), first: 1)
        _ = try await ask(access)
        access.pass(600)
        let early = Task { try await ask(access) }
        while access.counts[0] < 2, !Task.isCancelled { await Task.yield() }
        access.patience.open()
        _ = try await early.value
        #expect(access.cancelledCount == 0)
        state.networkDidChange()
        while access.cancelledCount == 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func aRequestLeavesALoadingOfAnotherNetwork() async throws {
        let access = Access(gate: LoopbackServer.Gate())
        let early = Task { try await ask(access) }
        while access.counts[0] < 1, !Task.isCancelled { await Task.yield() }
        state.networkDidChange()
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }
    }

    @Test func resultsDoNotGrowWithoutEnd() async throws {
        let access = Access()
        for index in 0..<1100 { _ = try await ask(access, "http://h\(index).example/") }
        _ = try await ask(access, "http://h1099.example/")
        #expect(access.counts == [1, 1100])
    }
}
