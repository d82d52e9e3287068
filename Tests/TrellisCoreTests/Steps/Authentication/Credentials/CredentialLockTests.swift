import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// User code that runs when a credential is replaced, and reads the credential itself.
@Suite(.timeLimit(.minutes(3)))
struct CredentialLockTests {
    /// A credential that runs a closure when it is released.
    private final class Watched: AuthenticationCredential {
        let requiresRefresh = false
        private let whenGone: @Sendable () -> Void

        init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }

        deinit { whenGone() }
    }

    private struct Keeping: Authenticator {
        func apply(_ credential: Watched, to request: inout Request) {}
        func refresh(_ credential: Watched, using session: RefreshSession) async throws -> Watched { credential }
    }

    @Test func theEndOfACredentialMayAskForTheNextOne() {
        let hasGone = Locked(0)
        let holder = Locked<AuthenticationInterceptor<Keeping>?>(nil)
        let gone: @Sendable () -> Void = {
            let hasNext = holder.withLock { $0 }?.credential != nil
            hasGone.withLock { $0 += hasNext ? 1 : 0 }
        }
        let interceptor = AuthenticationInterceptor(authenticator: Keeping(), credential: Watched(gone))
        holder.withLock { $0 = interceptor }
        interceptor.credential = Watched {}
        #expect(hasGone.withLock { $0 } == 1)
        holder.withLock { $0 = nil }
    }

    @Test(arguments: [true, false])
    func theCancellationOfARefreshMayAskForTheCredential(_ isTimedOut: Bool) async throws {
        let begun = LoopbackServer.Gate(), never = LoopbackServer.Gate(), cancelled = LoopbackServer.Gate()
        let holder = Locked<TokenWorld?>(nil)
        let seen = Locked<[Token?]>([])
        let world = TokenWorld(accepting: ["set"], credential: Token("old"), timeout: .seconds(10)) { _ in
            try await withTaskCancellationHandler {
                begun.open()
                try await never.opened()
            } onCancel: {
                let credential = holder.withLock { $0 }?.interceptor.credential
                seen.withLock { $0.append(credential) }
                cancelled.open()
            }
            return Token("never")
        }
        holder.withLock { $0 = world }
        let call = Task { try? await world.get() }
        try await begun.opened()
        await world.endRefresh(byTimeout: isTimedOut, cancelled)
        #expect(seen.withLock { $0 } == [Token(isTimedOut ? "old" : "set")])
        #expect(await call.value == (isTimedOut ? nil : "set"))
        holder.withLock { $0 = nil }
    }
}
