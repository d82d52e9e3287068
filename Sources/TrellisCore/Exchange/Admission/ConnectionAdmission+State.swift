import CurlEngine

extension ConnectionAdmission {
    /// The state that the lock guards.
    struct State {
        private let limits: ConnectionLimits
        var queue: AdmissionQueue<Applicant>
        private var engines: [ExchangeEngine] = []
        var loads = EngineLoads(requests: [], activeCount: 1) { _ in false }
        /// The number of open connections on all engines, for all origins.
        private var openCount = 0
        /// When origins no longer leave idle connections to others; `nil` if none does so.
        private var holdEnd: EngineInstant?
        /// The interval of the holds' ends. An exchange waits for one to two intervals at most.
        private static var holdTime: Duration { .milliseconds(5) }

        init(_ limits: ConnectionLimits) {
            self.limits = limits
            queue = AdmissionQueue(limits: limits)
        }

        /// Whether the session has several engines. With one engine, libcurl alone knows the connections.
        var isSpread: Bool { engines.count > 1 }

        /// Adds an engine. Returns the first engine if it must close its idle connections.
        mutating func add(_ engine: ExchangeEngine) -> ExchangeEngine? {
            engines.append(engine)
            loads.requests.append(0)
            let engines = engines
            loads = EngineLoads(requests: loads.requests, activeCount: loads.activeCount) {
                engines[$0].executor.isStuck
            } isBusy: {
                engines[$0].isBusy
            }
            guard engines.count == 2 else { return nil }
            queue.spread { $0.exchange.home.index }
            for originIndex in queue.originIndices {
                let active = queue.activeCount(at: originIndex)
                guard active > 0 else { continue }
                queue[spreadAt: originIndex].adopt(
                    active: active, connections: queue.connectionCount(at: originIndex), on: 0)
                loads.requests[0] += active
                openCount += queue.connectionCount(at: originIndex)
            }
            return engines[0]
        }

        mutating func engine(for origin: String?) -> ExchangeEngine {
            guard let origin, let originIndex = queue.originIndex(of: origin) else {
                return engines[loads.relief(of: 0) ?? loads.relieving(0)]
            }
            let streams = queue.streams(at: originIndex)
            if let index = queue[spreadAt: originIndex].engineWithRoom(streams: streams, loads) {
                return engines[streams == 1 ? engineRelieving(index, at: originIndex) ?? index : index]
            }
            let count = queue[spreadAt: originIndex].openCount
            guard streams == 1, count >= engines.count, queue.isFull(originIndex),
                let largest = queue[spreadAt: originIndex].largest
            else { return engines[(streams == 1 ? loads.relief(of: 0) : nil) ?? loads.relieving(0)] }
            // The request waits for a connection: where most of them are, unless these engines have much more to do.
            let relief = loads.relieving(largest)
            guard relief == largest, let next = queue[spreadAt: originIndex].engineInTurn(), !loads.isStuck(next) else {
                return engines[relief]
            }
            return engines[next]
        }

        /// Returns the engine that takes a request of a busy engine, which has an idle connection to the origin; `nil` if there is none.
        private func engineRelieving(_ engine: Int, at originIndex: OriginIndex) -> Int? {
            guard loads.isBusy(engine) else { return nil }
            let spread = queue[spreadAt: originIndex]
            let isFull = openCount >= limits.total || spread.openCount >= limits.perOrigin
            return spread.relief(of: engine, isFull: isFull, loads)
        }

        /// Chooses the engines of exchanges whose turn has come.
        mutating func grants(_ applicants: [Applicant]) -> [Grant] {
            if applicants.isEmpty { return [] }
            guard isSpread else {
                return applicants.map { Grant(exchange: $0.exchange, engine: $0.exchange.home) }
            }
            return applicants.map { grant($0.exchange, at: nil, isProbing: false) }
        }

        /// Chooses the engine of an exchange that gets a slot.
        ///
        /// - Parameter originIndex: The index of the exchange's origin; if `nil`, it is found by name.
        mutating func grant(_ exchange: ExchangeActor, at originIndex: OriginIndex?, isProbing: Bool) -> Grant {
            guard let originIndex = originIndex ?? queue.originIndex(of: exchange.prepared.queue) else {
                return Grant(exchange: exchange, engine: exchange.home)
            }
            let before = queue[spreadAt: originIndex].openCount
            let room = max(limits.total - openCount, 0)
            let choice = queue[spreadAt: originIndex].take(
                home: exchange.home.index, streams: queue.streams(at: originIndex),
                limit: min(limits.perOrigin, before + room), mobility: exchange.mobility, engines: loads)
            openCount += queue[spreadAt: originIndex].openCount - before
            loads.requests[choice.engine] += 1
            var grant = Grant(exchange: exchange, engine: engines[choice.engine], isProbing: isProbing)
            if let closing = choice.closes {
                grant.closing = (engines[closing], queue.origin(at: originIndex))
            } else if choice.opens, openCount > limits.total {
                grant.closing = closeIdleConnection()
            }
            return grant
        }

        /// Ends the hold of idle connections if its time is over. Returns the slots that are granted, and the instant for a timer; `nil` if
        /// no timer is needed.
        mutating func updateHold(now: EngineInstant) -> ([Grant], EngineInstant?) {
            if let holdEnd, now < holdEnd { return ([], nil) }
            let granted = holdEnd == nil ? [] : grants(queue.endHold())
            holdEnd = queue.isHolding ? now.advanced(by: Self.holdTime) : nil
            return (granted, holdEnd)
        }

        mutating func release(at originIndex: OriginIndex, on engine: Int) {
            queue[spreadAt: originIndex].release(on: engine)
            loads.requests[engine] -= 1
        }

        mutating func closeAllIdle(on engine: Int) {
            guard isSpread else { return }
            for originIndex in queue.originIndices {
                let before = queue[spreadAt: originIndex].openCount
                queue[spreadAt: originIndex].closeAllIdle(on: engine, streams: queue.streams(at: originIndex))
                openCount += queue[spreadAt: originIndex].openCount - before
                queue.forgetIfUnused(originIndex)
            }
        }

        /// Chooses an idle connection to be closed, of the origin that was used least recently; `nil` if there is none.
        private mutating func closeIdleConnection() -> (engine: ExchangeEngine, origin: String)? {
            guard let originIndex = queue.leastRecentlyIdle,
                let engine = queue[spreadAt: originIndex].engineWithIdleConnection(
                    streams: queue.streams(at: originIndex))
            else { return nil }
            queue[spreadAt: originIndex].closeIdle(on: engine)
            openCount -= 1
            let origin = queue.origin(at: originIndex)
            queue.forgetIfUnused(originIndex)
            return (engines[engine], origin)
        }
    }
}
