import CurlEngine
import Testing
import TrellisTesting

@testable import Trellis

/// Calls that need the same evaluation share one.
@Suite(.timeLimit(.minutes(3)))
struct SharedEvaluationsTests {
    private static let chain = CertificateChain(validated: [[1]], sent: [])
    private static let refusal = TrellisError(.serverTrust(.customEvaluationFailed(host: "x")))

    /// The evaluations that have begun, and a gate that ends them.
    private final class Evaluation: Sendable {
        let count = Locked(0)
        let end = LoopbackServer.Gate()
        let failure: TrellisError?

        init(_ failure: TrellisError? = nil) { self.failure = failure }

        func run() async throws(TrellisError) {
            count.withLock { $0 += 1 }
            do { try await end.opened() } catch { throw SharedEvaluationsTests.refusal }
            if let failure { throw failure }
        }

        func hasBegun(_ number: Int) async {
            while count.withLock({ $0 }) < number, !Task.isCancelled { await Task.yield() }
        }
    }

    /// Starts a call, and returns its result: `nil` if it has been accepted.
    private func call(_ shared: SharedEvaluations, _ evaluation: Evaluation) -> Task<TrellisError.Kind?, Never> {
        Task {
            do throws(TrellisError) {
                try await shared.evaluate(Self.chain) { () async throws(TrellisError) in try await evaluation.run() }
                return nil
            } catch {
                return error.kind
            }
        }
    }

    @Test(arguments: [false, true])
    func allCallsHaveTheResultOfOne(_ fails: Bool) async {
        let shared = SharedEvaluations(), evaluation = Evaluation(fails ? Self.refusal : nil)
        let first = call(shared, evaluation)
        await evaluation.hasBegun(1)
        let others = (0..<20).map { _ in call(shared, evaluation) }
        for _ in 0..<1000 { await Task.yield() }
        evaluation.end.open()
        for task in [first] + others { #expect(await task.value == (fails ? .trustRefused : nil)) }
        // Calls that came too late have made one of their own.
        #expect(evaluation.count.withLock { $0 } <= 21)
        // Nothing is left: the next call evaluates.
        let next = Evaluation()
        next.end.open()
        #expect(await call(shared, next).value == nil)
        #expect(next.count.withLock { $0 } == 1)
    }

    @Test func aCancelledEvaluationIsMadeByAnotherCall() async {
        let shared = SharedEvaluations(), evaluation = Evaluation()
        let first = call(shared, evaluation)
        await evaluation.hasBegun(1)
        let second = call(shared, evaluation)
        first.cancel()
        #expect(await first.value == .trustRefused)
        await evaluation.hasBegun(2)
        evaluation.end.open()
        #expect(await second.value == nil)
    }

    @Test func aCallThatIsCancelledLeavesTheOthers() async {
        let shared = SharedEvaluations(), evaluation = Evaluation()
        let first = call(shared, evaluation)
        await evaluation.hasBegun(1)
        let second = call(shared, evaluation), third = call(shared, evaluation)
        second.cancel()
        // A cancelled call has no result; its pipeline throws the cancellation.
        #expect(await second.value == nil)
        evaluation.end.open()
        #expect(await first.value == nil)
        #expect(await third.value == nil)
    }
}
