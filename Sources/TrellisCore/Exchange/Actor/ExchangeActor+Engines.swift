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

    /// Whether the exchange has moved from its first engine.
    nonisolated var hasMoved: Bool { isMoved.load(ordering: .acquiring) }

    /// The freedom of the exchange to move to another engine.
    nonisolated var mobility: EngineMobility {
        if hasMoved { return .none }
        return prefersEngine ? .atLimit : .free
    }

    /// Whether the exchange has ended. May be read on any thread.
    nonisolated var isEnded: Bool { hasEnded.load(ordering: .acquiring) }

    /// Notifies the registry of the first engine that the exchange has ended.
    func recordEnd() {
        let wasAdded = isRegistered
        guard hasMoved else { return first.registry.didEnd(self, wasAdded: wasAdded) }
        first.executor.submit { [self] in first.registry.didEnd(self, wasAdded: wasAdded) }
    }

    // MARK: The list

    /// The position in the list of the first engine; -1 outside of the list.
    nonisolated var listPosition: Int {
        get { position.load(ordering: .relaxed) }
        set { position.store(newValue, ordering: .relaxed) }
    }

    // MARK: The slot

    /// Requests a slot.
    func enterQueue() {
        if originIndex == nil {
            guard isRegistered || register() else { return }
            // The adapters of the call may have taken all of its time. The timer, which is set next, ends the exchange.
            if deadlines.isTotalOver(at: executor.now) { return }
        }
        // An exchange that is about to be cancelled takes no slot.
        if mustEnd.load(ordering: .relaxed) { return }
        let entry = admission.enter(self)
        originIndex = entry.originIndex
        switch entry.result {
        case .admitted(let isProbing): admit(on: home, isProbing: isProbing)
        case .coming: break
        case .waiting: hasWaited = true
        }
    }

    /// Adds the exchange to the registry of its engine, once: it may request a slot several times. Returns whether it may request one now.
    private func register() -> Bool {
        guard first.registry.add(self, isPartOfCall: isPartOfCall) else {
            // Submitted, because the exchange is still handling the event that led here.
            submit { $0.cancel(TrellisError.sessionIsShutDown) }
            return false
        }
        isRegistered = true
        if listPosition < 0 { _ = first.list.add(self, from: nil) }
        guard hasHistory, let error = prepared.history?.listedCall?.cancellation else { return true }
        submit { $0.cancel(error) }
        return false
    }

    /// Grants the exchange a slot. If the slot is on another engine, the exchange moves there. An exchange that has ended, or is about to,
    /// passes the slot on.
    ///
    /// - Parameter isProbing: Whether other requests wait until the connection of this one shows whether it can be shared.
    func didGetSlot(on engine: ExchangeEngine, isProbing: Bool) {
        failIfOverdue()
        guard state.progress == .queued else {
            // The exchange no longer waits: it releases this slot, and keeps the slot that it may already have.
            let used = slotEngine
            slotEngine = engine
            handle(.admit)
            return slotEngine = used
        }
        if mustEnd.load(ordering: .relaxed) { return passOn(engine) }
        guard engine !== home else { return admit(on: engine, isProbing: isProbing) }
        if let timer { executor.engineLoop.cancel(timer) }
        timer = nil
        // From here on, the exchange belongs to the other engine.
        _ = moved.storeIfNil(engine)
        isMoved.store(true, ordering: .releasing)
        submitDirectly { exchange in
            exchange.didGetSlot(on: engine, isProbing: isProbing)
            exchange.updateTimer()
        }
    }

    /// Passes a slot on to the next exchange that waits.
    private func passOn(_ engine: ExchangeEngine) {
        guard let originIndex else { return }
        admission.release(self, at: originIndex, on: engine, isShared: nil)
    }

    private func admit(on engine: ExchangeEngine, isProbing: Bool) {
        // Either the exchange sees here that it must end, or the thread that ends it sees that it has started.
        hasStarted.store(true, ordering: .sequentiallyConsistent)
        guard !mustEnd.load(ordering: .sequentiallyConsistent) else { return passOn(engine) }
        self.isProbing = isProbing
        slotEngine = engine
        engine.countAdmitted()
        handle(.admit)
    }
}
