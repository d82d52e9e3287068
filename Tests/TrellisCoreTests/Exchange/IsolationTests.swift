import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The actors of a session run on its engine thread and nowhere else.
@Suite(.timeLimit(.minutes(3)))
struct IsolationTests {
    private let session = Scripted().session

    @Test func theExecutorKnowsItsThread() async {
        let engine = session.engine
        #expect(!engine.isCurrent)
        #expect(engine.isIsolatingCurrentContext() == false)
        let onThread = await withContinuation { continuation in
            engine.submit {
                continuation.resume(returning: engine.isCurrent && engine.isIsolatingCurrentContext() == true)
            }
        }
        #expect(onThread)
    }

    @Test func theSessionsActorIsIsolatedOnItsThread() async {
        let actor = session.actor
        #expect(await actor.requestCount == 0)
        let (engine, isIsolated) = (session.engine, await Self.isOnThread(of: actor))
        #expect(isIsolated)
        #expect(!engine.isCurrent)
    }

    private static func isOnThread(of actor: isolated SessionActor) -> Bool {
        actor.assertIsolated()
        return actor.executor.isCurrent
    }

    @Test func aTaskThatPrefersTheExecutorRunsOnTheThread() async {
        let engine = session.engine
        let isThere = await Task(executorPreference: engine) { engine.isCurrent }.value
        #expect(isThere)
    }

    @Test func oneSessionsThreadIsNotAnothers() async {
        let (first, second) = (session.engine, Scripted().session.engine)
        let isOnSecond = await withContinuation { continuation in
            first.submit { continuation.resume(returning: second.isCurrent) }
        }
        #expect(!isOnSecond)
    }

    @Test func enteringTheActorFromAnotherThreadTraps() async {
        await #expect(processExitsWith: .failure) {
            let session = Session()
            try endCall(of: session)
        }
    }

    @Test func assumingIsolationOnAnotherThreadTraps() async {
        await #expect(processExitsWith: .failure) {
            assumeIsolation(Session().actor)
        }
    }

    @Test func enteringFromTheEngineThreadDoesNot() async {
        await #expect(processExitsWith: .success) {
            let session = Session()
            await withContinuation { continuation in
                session.engine.submit {
                    #expect(throws: Never.self) { try endCall(of: session) }
                    assumeIsolation(session.actor)
                    continuation.resume()
                }
            }
        }
    }
}

/// Enters the actor of a session at once.
private func endCall(of session: Session) throws {
    session.actor.callsOnEngineThread.didEnd(try session.request("http://localhost/").handle.actor.get())
}

/// Asserts the isolation outside an asynchronous function, where the compiler refuses the call.
private func assumeIsolation(_ actor: SessionActor) { actor.assumeIsolated { _ in } }
