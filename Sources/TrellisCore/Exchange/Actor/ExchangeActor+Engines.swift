import CurlEngine

/// The engines of an exchange: the one on which it was created, and the one to which it has moved in order to use a connection there.
extension ExchangeActor {
    /// The engine on which the exchange lives.
    nonisolated var home: ExchangeEngine { hasMoved ? newHome : first }

    /// The engine to which the exchange has moved.
    @inline(never)
    private nonisolated var newHome: ExchangeEngine { marks.movedTo ?? first }

    nonisolated var executor: EngineExecutor {
        // Inlined, and apart from the rare case: the executor is read at every entry.
        @inline(__always) get { hasMoved ? newHome.executor : first.executor }
    }
    nonisolated var executorReference: ExecutorReference {
        hasMoved ? newHome.executorReference : first.executorReference
    }
    nonisolated var entrance: EngineExecutor { first.executor }

    /// Whether the exchange has moved from its first engine.
    nonisolated var hasMoved: Bool { marks.hasMoved }

    /// The freedom of the exchange to move to another engine.
    nonisolated var mobility: EngineMobility {
        if hasMoved { return .none }
        return prefersEngine ? .atLimit : .free
    }

    /// Whether the exchange has ended. May be read on any thread.
    nonisolated var isEnded: Bool { marks.hasEnded }

    /// Notifies the registry of the first engine that the exchange has ended.
    func recordEnd(isFollowed: Bool) {
        let wasAdded = isRegistered
        guard hasMoved else { return first.registry.didEnd(self, wasAdded: wasAdded, isFollowed: isFollowed) }
        first.executor.submit { [self] in first.registry.didEnd(self, wasAdded: wasAdded, isFollowed: isFollowed) }
    }

    /// Notifies the registry of the first engine that no call follows the redirect of the exchange. May be called on any thread.
    @inline(never)
    nonisolated func recordAbandonment() {
        first.executor.submit { [self] in first.registry.willNotFollow(self) }
    }

    /// Notifies the registry of the first engine that a call will follow the redirect with which the exchange was answered.
    func recordRedirect() {
        guard hasMoved else { return first.registry.willFollow(self) }
        first.executor.submit { [self] in first.registry.willFollow(self) }
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
        if marks.mayNotStart { return }
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
        let adaptedCall = hasHistory ? prepared.history?.adaptedCall : nil
        guard first.registry.add(self, isPartOfCall: isPartOfCall || adaptedCall != nil) else {
            // Submitted, because the exchange is still handling the event that led here.
            submit { $0.cancel(TrellisError.sessionIsShutDown) }
            return false
        }
        isRegistered = true
        if marks.listPosition < 0 { first.list.add(self) }
        guard let error = adaptedCall?.cancellation else { return true }
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
        if marks.mayNotStart { return passOn(engine) }
        guard engine !== home else { return admit(on: engine, isProbing: isProbing) }
        if let timer { executor.engineLoop.cancel(timer) }
        timer = nil
        // From here on, the exchange belongs to the other engine.
        marks.move(to: engine)
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
        if marks.mayNotStart { return passOn(engine) }
        self.isProbing = isProbing
        slotEngine = engine
        engine.countAdmitted()
        handle(.admit)
    }
}
