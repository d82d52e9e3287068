/// The races between HTTP/3, which libcurl speaks, and connections over TCP, for requests that prefer HTTP/3.
///
/// HTTP/3 has a head start. The connection that is ready first gets the request, and the other attempt is given up. Nothing was sent
/// before. Where HTTP/3 has lost, it is not tried for a time; where it works, requests wait for no race while there is a connection.
final class HTTP3Races {
    /// The time for which HTTP/3 is tried alone.
    static let headStart = Duration.milliseconds(100)
    /// The number of races that a transfer enters, because the HTTP/3 connection was lost before its request was sent, or had no room.
    private static let maximumRaces = 3

    private var races: [String: HTTP3Race] = [:]
    private(set) var records = HTTP3Records()

    /// Returns whether a transfer that starts waits for a race. Otherwise it is sent now, over HTTP/3 or over TCP.
    func holds(_ transfer: Transfer) -> Bool {
        guard case .open = transfer.connection.http3.way, transfer.options.racesHTTP3 else { return false }
        transfer.isOnWire = true
        guard transfer.connection.http3.raceCount < Self.maximumRaces else {
            transfer.connection.http3.way = .decided
            return false
        }
        let loop = transfer.engine.executor.engineLoop
        switch records.record(of: transfer.options.pool, now: loop.systemNow) {
        case .lost:
            transfer.connection.http3.way = .decided
            return false
        case .works:
            transfer.isOnWire = false
            return false
        case nil where races[transfer.options.pool]?.isLost == true:
            // A server that is reached over TCP may be unreachable over UDP.
            transfer.connection.http3.way = .decided
            return false
        case nil: break
        }
        enter(transfer)
        let timer = EngineTimer { transfer.engine.http3Races.headStartIsOver(transfer) }
        loop.set(timer, onSystemAt: loop.systemNow.advanced(by: Self.headStart))
        return true
    }

    private func enter(_ transfer: Transfer) {
        transfer.connection.http3.way = .ahead
        transfer.connection.http3.raceCount += 1
        transfer.engine.wire.waiting.insert(transfer)
        if let race = races[transfer.options.pool] { return race.enter(transfer) }
        let race = HTTP3Race(transfer)
        races[race.pool] = race
        race.enter(transfer)
        race.begin()
    }

    /// Handles the end of the head start of HTTP/3 for a transfer.
    private func headStartIsOver(_ transfer: Transfer) {
        guard transfer.connection.http3.race != nil, case .ahead = transfer.connection.http3.way,
            !transfer.isCancelled
        else { return }
        transfer.connection.http3.way = .both
        goOnOverTCP(transfer)
    }

    private func goOnOverTCP(_ transfer: Transfer) {
        transfer.engine.wire.waiting.remove(transfer)
        transfer.engine.resume(transfer)
    }

    // MARK: Ends

    /// Records that a transfer is about to be sent on a connection over TCP.
    func hasConnected(_ transfer: Transfer) {
        transfer.connection.http3.way = .decided
        transfer.connection.http3.race?.isLost = true
        leave(transfer)
    }

    /// Removes a transfer from its race.
    func leave(_ transfer: Transfer) {
        guard let race = transfer.connection.http3.race else { return }
        transfer.engine.wire.waiting.remove(transfer)
        race.leave(transfer)
        guard race.members.isEmpty else { return }
        races[race.pool] = nil
        let hasTried = race.cancel()
        guard race.isLost, hasTried else { return }
        records.didLose(race.pool, now: transfer.engine.executor.engineLoop.systemNow)
    }

    /// Lets a transfer wait for the HTTP/3 connection, because none could be made over TCP.
    func wait(_ transfer: Transfer, after failure: EngineFailure) {
        transfer.connection.http3.way = .alone(failure)
        transfer.engine.wire.waiting.insert(transfer)
    }

    /// Records that HTTP/3 has no connection for a transfer, which libcurl would make.
    func forget(_ transfer: Transfer) { records.forget(transfer.options.pool) }

    func close() {
        races = [:]
        records = HTTP3Records()
    }

    /// Ends a race with its probe.
    func probeDidEnd(_ probe: Transfer, _ end: TransferEnd, of race: HTTP3Race) {
        races[race.pool] = nil
        let isWon = probe.connection.http3.isConnected
        let now = probe.engine.executor.engineLoop.systemNow
        if isWon {
            records.didConnect(race.pool, now: now)
        } else if end.failure?.kind != .nameResolution {
            records.didLose(race.pool, now: now)
        }
        for transfer in race.members {
            race.leave(transfer)
            guard !transfer.isCancelled, transfer.failure == nil else {
                if !transfer.connection.http3.isOverTCP { transfer.engine.wire.waiting.remove(transfer) }
                continue
            }
            if isWon {
                if race.isFirst(transfer), !end.report.isReusedConnection {
                    transfer.connection.http3.made = Boxed(end.report)
                }
                transfer.connection.http3.delay = race.elapsed
                useHTTP3(transfer)
            } else {
                useTCP(transfer)
            }
        }
    }

    private func useHTTP3(_ transfer: Transfer) {
        let engine = transfer.engine
        if case .both = transfer.connection.http3.way {
            guard engine.wire.withdraw(transfer) else { return transfer.connection.http3.way = .decided }
        }
        transfer.connection.http3.way = .open
        engine.wire.waiting.remove(transfer)
        transfer.isOnWire = false
        engine.enqueue([transfer])
    }

    private func useTCP(_ transfer: Transfer) {
        let way = transfer.connection.http3.way
        transfer.connection.http3.way = .decided
        switch way {
        case .ahead: goOnOverTCP(transfer)
        case .alone(let failure):
            transfer.engine.wire.waiting.remove(transfer)
            transfer.engine.fail(transfer, failure)
        case .open, .both, .decided: break
        }
    }
}
