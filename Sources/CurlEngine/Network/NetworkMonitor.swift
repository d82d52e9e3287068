import CCurl

/// A monitor of the machine's network, which reads the state of the network and informs observers of each change.
///
/// The monitor has a thread while it has observers, and sleeps there until the kernel notifies of a change. A change of anything that can
/// matter makes the monitor read the complete state again, because the kernel does not report everything: the routes that end with an
/// address end without a notification.
package final class NetworkMonitor: Sendable {
    /// The monitor of the process.
    package static let shared = NetworkMonitor()

    private struct Observer {
        let body: @Sendable (NetworkState?) -> Void
        /// Whether the observer has been called.
        var isInformed = false
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        var lastNumber = 0
        var hasThread = false
        /// The descriptor that wakes the thread; `nil` before the thread can be woken.
        var bell: Int32?
        /// The state of the network as of the last reading; `nil` if there is no thread, or if the system does not report the state.
        var latest: NetworkState?
    }

    private let state = Locked(State())
    private let open: @Sendable (RouteSocket.Subject) -> RouteSocket?
    /// Starts the thread of a monitor. Returns whether the system permits the thread.
    private let startThread: @Sendable (NetworkMonitor) -> Bool

    /// The time in milliseconds in which further notifications of the same change are expected.
    private static let settlingTime: UInt32 = 20

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - open: Opens the sockets of the monitor, on the thread that uses them.
    ///   - startThread: Starts the thread of the monitor, and returns whether that was possible; for tests.
    init(
        open: @escaping @Sendable (RouteSocket.Subject) -> RouteSocket? = { RouteSocket($0) },
        startThread: @escaping @Sendable (NetworkMonitor) -> Bool = { $0.start() }
    ) {
        self.open = open
        self.startThread = startThread
    }

    /// Creates a monitor of the network that threads have inside of `enter`, which calls its argument at once. For tests.
    package convenience init(inside enter: @escaping @Sendable (_ body: () -> Void) -> Void) {
        self.init(open: { subject in
            var socket: RouteSocket?
            enter { socket = RouteSocket(subject) }
            return socket
        })
    }

    // MARK: The observers' side

    /// The state of the network at this moment; `nil` if the system does not report it.
    package var current: NetworkState? {
        get async {
            if let latest = state.withLock({ $0.latest }) { return latest }
            // The kernel may make readers wait for programs that change the network.
            return await BlockingThreadPool.run { [open] in open(.nothing)?.readState() }
        }
    }

    /// Calls `body` with the state of the network, now and after every change, until the observation ends. The argument is `nil` if the
    /// system does not report the state. The calls come one after the other, on the monitor's thread, which `body` must not block.
    package func observe(_ body: @escaping @Sendable (NetworkState?) -> Void) -> NetworkObservation {
        let (number, mustStart) = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = Observer(body: body)
            defer { state.hasThread = true }
            if let bell = state.bell { Poller.signal(bell) }
            return (state.lastNumber, !state.hasThread)
        }
        // Without a thread there is nothing to report.
        if mustStart, !startThread(self) { giveUp() }
        return NetworkObservation { [self] in end(number) }
    }

    private func end(_ number: Int) {
        state.withLock { state in
            state.observers[number] = nil
            if let bell = state.bell, state.observers.isEmpty { Poller.signal(bell) }
        }
    }

    // MARK: The thread

    private func start() -> Bool {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe ccurl_thread_start(
            "trellis-network", { context in unsafe NetworkMonitor.run(context) }, context.toOpaque())
        if code != 0 { unsafe context.release() }
        return code == 0
    }

    private static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        unsafe Unmanaged<NetworkMonitor>.fromOpaque(context).takeRetainedValue().run()
    }

    private func run() {
        let poller = Poller()
        // The socket for changes is opened first, so that no change after the reading is missed.
        let socket = poller == nil ? nil : open(.everything)
        let reader = open(.nothing)
        if let poller, let socket { _ = poller.watch(socket.descriptor, generation: 0, for: .read) }
        var network = socket == nil ? nil : reader?.readState()
        var isNew = true
        while let bodies = next(network, isNew: isNew, bell: poller?.wakeUpDescriptor) {
            for body in bodies { body(network) }
            isNew = false
            guard bodies.isEmpty else { continue }
            guard let poller else { return giveUp() }
            var hasChanged = false
            poller.wait(nanoseconds: nil) { _ in hasChanged = true }
            guard hasChanged, let socket else { continue }
            // A change mostly comes with several notifications.
            ccurl_thread_sleep_ms(Self.settlingTime)
            let latest: NetworkState?
            switch socket.arrivals() {
            case .messages(let messages) where !messages.contains(where: NetworkState.isConcerned): continue
            case .messages, .overrun: latest = reader?.readState()
            case .failure:
                _ = poller.watch(socket.descriptor, generation: 0, for: [])
                latest = nil
            }
            isNew = latest != network
            network = latest
        }
    }

    /// Returns the observers that do not know the state of the network yet; `nil` if there are no observers at all, so that the thread
    /// ends.
    private func next(
        _ network: NetworkState?, isNew: Bool, bell: Int32?
    ) -> [@Sendable (NetworkState?) -> Void]? {
        state.withLock { state in
            guard !state.observers.isEmpty else {
                (state.hasThread, state.bell, state.latest) = (false, nil, nil)
                return nil
            }
            (state.bell, state.latest) = (bell, network)
            let uninformed = state.observers.filter { isNew || !$0.value.isInformed }.keys.sorted()
            return uninformed.compactMap { number in
                state.observers[number]?.isInformed = true
                return state.observers[number]?.body
            }
        }
    }

    /// Ends the thread, because the process has no descriptors left and the thread cannot wait for changes, or because the thread could not
    /// be started. All observers have been called then, also those that have joined in the meantime. The next observer starts another
    /// thread, which calls all of them.
    private func giveUp() {
        while true {
            let bodies = state.withLock { state -> [@Sendable (NetworkState?) -> Void] in
                let uninformed = state.observers.filter { !$0.value.isInformed }.keys.sorted()
                // Not earlier: the calls of another thread must not precede these.
                if uninformed.isEmpty { (state.hasThread, state.bell, state.latest) = (false, nil, nil) }
                return uninformed.compactMap { number in
                    state.observers[number]?.isInformed = true
                    return state.observers[number]?.body
                }
            }
            if bodies.isEmpty { return }
            for body in bodies { body(nil) }
        }
    }
}

/// An observation of the network, which ends with the last reference to it.
package final class NetworkObservation: Sendable {
    private let onEnd: @Sendable () -> Void

    /// - Parameter onEnd: Ends the observation. May be called several times.
    package init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }

    /// Ends the observation. A call that has begun still comes to its end.
    package func end() { onEnd() }
}
