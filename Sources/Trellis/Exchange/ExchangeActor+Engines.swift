import CurlEngine
import Synchronization

/// The engines of an exchange: the one on which it was created, and the one to which it has moved in order to use a connection there.
extension ExchangeActor {
    /// The engine on which the exchange lives.
    nonisolated var home: ExchangeEngine { hasMoved ? newHome : first }

    /// The engine to which the exchange has moved.
    @inline(never)
    private nonisolated var newHome: ExchangeEngine { moved.load() ?? first }

    nonisolated var executor: EngineExecutor {
        // Inlined, and apart from the rare case: the executor is read at every entry.
        @inline(__always) get { hasMoved ? newHome.executor : first.executor }
    }
    nonisolated var executorReference: ExecutorReference {
        hasMoved ? newHome.executorReference : first.executorReference
    }
    nonisolated var entrance: EngineExecutor { first.executor }

    /// Indicates whether the exchange has moved from its first engine.
    nonisolated var hasMoved: Bool { isMoved.load(ordering: .acquiring) }

    /// The freedom of the exchange to move to another engine.
    nonisolated var mobility: EngineMobility {
        if hasMoved { return .none }
        return prefersEngine ? .atLimit : .free
    }

    /// Indicates whether the exchange has ended. May be read on any thread.
    nonisolated var isEnded: Bool { hasEnded.load(ordering: .acquiring) }

    /// Notifies the registry of the first engine that the exchange has ended.
    func recordEnd(isFollowed: Bool) {
        guard hasMoved else { return first.registry.didEnd(self, isFollowed: isFollowed) }
        first.executor.submit { [self] in first.registry.didEnd(self, isFollowed: isFollowed) }
    }

    /// Notifies the registry of the first engine that a call will follow the redirect with which the exchange was answered.
    func recordRedirect() {
        guard hasMoved else { return first.registry.willFollow(self) }
        first.executor.submit { [self] in first.registry.willFollow(self) }
    }

    // MARK: The slot

    /// Requests a slot.
    func enterQueue() {
        guard place != nil || first.registry.add(self, isPartOfCall: isPartOfCall) else {
            // Submitted, because the exchange is still handling the event that led here.
            return submit { $0.cancel(TrellisError(.cancelled(.sessionShutDown))) }
        }
        let entry = admission.enter(self)
        place = entry.place
        if case .admitted(let isProbing) = entry.result { admit(on: home, isProbing: isProbing) }
    }

    /// Grants the exchange a slot. If the slot is on another engine, the exchange moves there.
    ///
    /// - Parameter isProbing: Indicates whether other requests wait until the connection of this one shows whether it can be shared.
    func didGetSlot(on engine: ExchangeEngine, isProbing: Bool) {
        guard state.progress == .queued else {
            // The exchange no longer waits: it releases this slot, and keeps the slot that it may already have.
            let used = slotEngine
            slotEngine = engine
            handle(.admit)
            return slotEngine = used
        }
        guard engine !== home else { return admit(on: engine, isProbing: isProbing) }
        if let timer { executor.engineLoop.cancel(timer) }
        timer = nil
        // From here on, the exchange belongs to the other engine.
        _ = moved.storeIfNil(engine)
        isMoved.store(true, ordering: .releasing)
        submitDirectly { exchange in
            exchange.admit(on: engine, isProbing: isProbing)
            exchange.updateTimer()
        }
    }

    /// Requests a slot again, because the engine of the exchange was stuck when it was the exchange's turn.
    func didLoseTurn() {
        guard state.progress == .queued else { return }
        enterQueue()
    }

    private func admit(on engine: ExchangeEngine, isProbing: Bool) {
        self.isProbing = isProbing
        slotEngine = engine
        engine.countAdmitted()
        handle(.admit)
    }
}
