import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The states of a circuit: closed, open, half-open.
struct CircuitTests {
    static func circuit(ratio: Double = 0.5, minimum: Int = 4) -> Circuit {
        Circuit(CircuitRules(failureRatio: ratio, minimumRequests: minimum))
    }

    /// Sends requests with these outcomes within one second; returns the number of requests that were admitted.
    @discardableResult
    static func send(
        _ outcomes: [CircuitBreaker.Outcome], to circuit: inout Circuit, at second: Double = 100
    ) -> Int {
        outcomes.count { outcome in
            guard case .admitted(let permit) = circuit.enter(at: .at(.seconds(second))) else { return false }
            circuit.leave(permit, outcome, at: .at(.seconds(second)))
            return true
        }
    }

    static func refusal(_ circuit: inout Circuit, at second: Double) -> Circuit.Refusal? {
        if case .refused(let refusal) = circuit.enter(at: .at(.seconds(second))) { refusal } else { nil }
    }

    @Test(
        arguments: [
            ([], 0.5, false), ([.failure, .failure, .failure], 0.5, false),
            ([.failure, .failure, .success, .success], 0.5, true),
            ([.failure, .success, .success, .success], 0.5, false),
            ([.success, .success, .failure, .failure], 0.5, true),
            // A success can open the circuit too, as it completes the minimum number of outcomes.
            ([.failure, .failure, .failure, .success], 0.5, true),
            ([.failure, .failure, .failure, .neutral], 0.5, false),
            ([.failure, .failure, .failure, .failure], 1, true), ([.failure, .failure, .failure, .success], 1, false),
            ([.success, .success, .success, .success], 0, false), ([.success, .success, .success, .failure], 0, true),
            ([.failure, .failure, .failure, .failure], 2, false),
        ] as [([CircuitBreaker.Outcome], Double, Bool)])
    func enoughFailuresOpenIt(_ outcomes: [CircuitBreaker.Outcome], _ ratio: Double, _ isOpen: Bool) {
        var circuit = Self.circuit(ratio: ratio)
        #expect(Self.send(outcomes, to: &circuit) == outcomes.count)
        #expect((Self.refusal(&circuit, at: 100) != nil) == isOpen)
    }

    @Test func oldFailuresDoNotCount() {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure], to: &circuit, at: 100)
        Self.send([.failure, .success], to: &circuit, at: 110)
        #expect(Self.refusal(&circuit, at: 110) == nil)
    }

    @Test func anOpenCircuitSaysWhyAndHowLong() {
        var circuit = Self.circuit()
        Self.send([.success, .failure, .failure, .failure], to: &circuit)
        let refusal = Self.refusal(&circuit, at: 101.75)
        #expect(refusal?.failures == 3)
        #expect(refusal?.requests == 4)
        #expect(refusal?.nextAttempt == .milliseconds(3250))
    }

    @Test func afterAWhileOneRequestIsLetThrough() throws {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        #expect(Self.refusal(&circuit, at: 104.9) != nil)
        guard case .admitted(let probe) = circuit.enter(at: .at(.seconds(105))) else {
            throw TrellisError(.other("refused"))
        }
        let refusal = try #require(Self.refusal(&circuit, at: 106))
        #expect(refusal.nextAttempt == nil)
        circuit.leave(probe, .success, at: .at(.seconds(107)))
        // The record of outcomes is empty again.
        #expect(Self.send([.failure, .failure, .failure], to: &circuit, at: 107) == 3)
        #expect(Self.send([.success], to: &circuit, at: 107) == 1)
    }

    @Test func aFailureOpensItForTheSameTimeAgain() {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        #expect(Self.send([.failure, .success], to: &circuit, at: 105) == 1)
        #expect(Self.refusal(&circuit, at: 109.9)?.nextAttempt == .milliseconds(100))
        #expect(Self.send([.success, .success], to: &circuit, at: 110) == 2)
    }

    @Test func aCancelledProbeIsFollowedByAnother() {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        #expect(Self.send([.neutral, .neutral, .success, .success], to: &circuit, at: 105) == 4)
    }

    /// A probe that does not end, such as that of a suspended handle, is replaced after the open duration.
    @Test(arguments: [.success, .failure, .neutral] as [CircuitBreaker.Outcome])
    func aProbeThatDoesNotEndIsReplaced(_ outcome: CircuitBreaker.Outcome) throws {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        guard case .admitted(let stuck) = circuit.enter(at: .at(.seconds(105))) else {
            throw TrellisError(.other("refused"))
        }
        #expect(Self.refusal(&circuit, at: 109.9) != nil)
        guard case .admitted(let second) = circuit.enter(at: .at(.seconds(110))) else {
            throw TrellisError(.other("refused"))
        }
        // The outcome of the first probe no longer counts.
        #expect(circuit.leave(stuck, outcome, at: .at(.seconds(111))) == nil)
        #expect(Self.refusal(&circuit, at: 111) != nil)
        #expect(circuit.leave(second, .success, at: .at(.seconds(112))) == .closed)
        #expect(Self.refusal(&circuit, at: 112) == nil)
    }

    @Test(arguments: [.success, .failure, .neutral] as [CircuitBreaker.Outcome])
    func whatWasLetThroughBeforeSaysNothingNow(_ outcome: CircuitBreaker.Outcome) throws {
        var circuit = Self.circuit()
        guard case .admitted(let slow) = circuit.enter(at: .at(.seconds(100))) else {
            throw TrellisError(.other("refused"))
        }
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        circuit.leave(slow, outcome, at: .at(.seconds(101)))
        #expect(Self.refusal(&circuit, at: 101)?.nextAttempt == .seconds(4))
        guard case .admitted(let probe) = circuit.enter(at: .at(.seconds(105))) else {
            throw TrellisError(.other("refused"))
        }
        circuit.leave(slow, outcome, at: .at(.seconds(105)))
        #expect(Self.refusal(&circuit, at: 105) != nil)
        circuit.leave(probe, .success, at: .at(.seconds(105)))
        #expect(Self.refusal(&circuit, at: 105) == nil)
    }

    @Test func aWellCircuitIsForgettable() {
        var circuit = Self.circuit()
        #expect(circuit.isForgettable(at: .at(.seconds(100))) == true)
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        Self.send([.success], to: &circuit, at: 1000)
        #expect(circuit.isForgettable(at: .at(.seconds(1000))) == true)
    }

    // MARK: Outcomes

    @Test(
        arguments: [
            (200, .success), (301, .success), (404, .success), (429, .success), (500, .failure), (501, .success),
            (502, .failure), (503, .failure), (504, .failure), (505, .success),
        ] as [(Int, CircuitBreaker.Outcome)])
    func whatAStatusSays(_ status: Int, _ outcome: CircuitBreaker.Outcome) {
        #expect(CircuitBreaker.Outcome(status: status, error: nil) == outcome)
        let error = TrellisError(.validationFailed(.status(status)))
        #expect(CircuitBreaker.Outcome(status: nil, error: error) == outcome)
    }

    @Test(
        arguments: [
            (.connectionFailed(.unreachable("x")), .failure), (.securityFailed(.handshake("x")), .failure),
            (.timedOut(.idle), .failure), (.timedOut(.total), .neutral), (.exchangeFailed(.connectionLost), .failure),
            (.invalidResponse(.bodyCutShort("x")), .failure), (.invalidResponse(.bodyTooLarge(limit: 1)), .success),
            (.cancelled(.explicitly), .neutral), (.bodyFailed(.sourceFailed), .neutral),
            (.securityFailed(.untrusted(.init(.selfSigned))), .neutral), (.other("x"), .neutral),
        ] as [(TrellisError.Reason, CircuitBreaker.Outcome)])
    func whatAnErrorSays(_ reason: TrellisError.Reason, _ outcome: CircuitBreaker.Outcome) {
        #expect(CircuitBreaker.Outcome(status: nil, error: TrellisError(reason)) == outcome)
    }

    /// The end of the call's time counts as a failure only while the host owes a response: not before the request is sent, and
    /// not behind the head.
    @Test(arguments: TrellisError.Phase.allCases)
    func theEndOfTheCallsTimeSaysSomethingWhereAnAnswerWasAwaited(_ phase: TrellisError.Phase) {
        let error = TrellisError(.timedOut(.total), phase: phase)
        let isFailure = phase == .connecting || phase == .sending
        #expect(CircuitBreaker.Outcome(status: nil, error: error) == (isFailure ? .failure : .neutral))
    }

    @Test func othersErrorsSayNothing() {
        #expect(CircuitBreaker.Outcome(status: nil, error: CancellationError()) == .neutral)
        #expect(CircuitBreaker.Outcome(status: nil, error: nil) == .neutral)
    }

    // MARK: Hosts

    @Test func hostsHaveCircuitsOfTheirOwnAndTheErrorSaysWhich() throws {
        let clock = TestClock()
        let breaker = CircuitBreaker()
        func enter(_ host: String) throws -> Circuit.Permit {
            try breaker.enter(host: host, at: clock.engineSide.now())
        }
        for number in 0..<20 {
            let permit = try enter("api.example.com")
            // The last failure reaches half of the outcomes.
            breaker.leave(
                permit, number >= 8 ? .failure : .success, host: "api.example.com", at: clock.engineSide.now())
        }
        clock.move(by: .milliseconds(1800))
        let error = #expect(throws: TrellisError.self) { try enter("api.example.com") }
        #expect(error?.kind == .circuitOpen)
        #expect(error?.mayHaveSentBytes == false)
        #expect(
            error?.description
                == "the circuit to api.example.com is open after 12 of 20 requests failed; next attempt in 3.2 s")
        _ = try enter("b.example")
        let now = clock.engineSide.now()
        #expect(throws: TrellisError.self) { try breaker.check(host: "api.example.com", at: now) }
        clock.move(by: .milliseconds(3250))
        // A check does not take a permit.
        try breaker.check(host: "api.example.com", at: clock.engineSide.now())
        _ = try enter("api.example.com")
        let second = #expect(throws: TrellisError.self) { try enter("api.example.com") }
        #expect(
            second?.description
                == "the circuit to api.example.com is open after 12 of 20 requests failed; "
                + "a request is under way to see whether it can be closed")
    }

    /// Circuits of dead hosts are removed: a crawler meets one dead host after the other, and never comes back.
    @Test func circuitsOfDeadHostsAreForgotten() throws {
        let breaker = CircuitBreaker(minimumRequests: 1)
        for host in 0..<10_000 {
            let now = EngineInstant.at(.seconds(host))
            breaker.leave(try breaker.enter(host: "\(host)", at: now), .failure, host: "\(host)", at: now)
        }
        #expect(breaker.hostCount <= 2 * HostTable<Circuit>.cleanUpThreshold)
    }

    @Test func aCircuitIsForgottenWhenNobodyHasAskedForAProbeForAsLongAsRequestsCount() {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        let early = [100, 104.9, 105, 114.9].filter { circuit.isForgettable(at: .at(.seconds($0))) }
        #expect(early == [])
        let isForgettable = circuit.isForgettable(at: .at(.seconds(115)))
        #expect(isForgettable)
    }

    @Test func aCircuitWithAProbeUnderWayIsKept() {
        var circuit = Self.circuit()
        Self.send([.failure, .failure, .failure, .failure], to: &circuit)
        guard case .admitted = circuit.enter(at: .at(.seconds(105))) else {
            Issue.record("no probe is let through")
            return
        }
        let isForgettable = circuit.isForgettable(at: .at(.seconds(10_000)))
        #expect(!isForgettable)
    }
}
