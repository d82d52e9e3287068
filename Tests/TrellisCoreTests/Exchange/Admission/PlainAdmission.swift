@testable import TrellisCore

/// The rules of admission without regard to cost: every event looks at every origin. Priorities are left out.
struct PlainAdmission {
    private struct Origin {
        var active = 0
        var isShared = false
        var isExclusive = false
        var explorer: Int?
        var line: [Int] = []
        var turn = 0

        var connections: Int { isShared ? (active + 99) / 100 : active }

        mutating func start(_ id: Int, mayShare: Bool) {
            if mayShare, active == 0, !isExclusive { (explorer, isShared) = (id, false) }
            active += 1
        }
    }

    let limits: ConnectionLimits
    private var origins: [String: Origin] = [:]
    private var lastTurn = 0

    init(limits: ConnectionLimits) { self.limits = limits }

    mutating func enter(_ id: Int, origin name: String, mayShare: Bool) -> Bool {
        // The origins are changed in their place: a copy of a long line for each comer would take most of the time.
        let isFirst = origins[name, default: Origin()].line.isEmpty
        if isFirst, hasRoom(origins[name, default: Origin()]) {
            origins[name, default: Origin()].start(id, mayShare: mayShare)
            return true
        }
        if isFirst {
            let turn = newTurn()
            origins[name, default: Origin()].turn = turn
        }
        origins[name, default: Origin()].line.append(id)
        return false
    }

    mutating func leave(_ id: Int, origin: String) { origins[origin]?.line.removeAll { $0 == id } }

    mutating func probed(_ id: Int, origin: String, isShared: Bool) -> [Int] {
        let known = origins[origin]
        let isDiscovery = isShared && known.map { $0.explorer == nil && !$0.isShared } ?? false
        guard known?.explorer == id || isDiscovery else { return [] }
        learn(origin, isShared)
        return admitted()
    }

    mutating func release(_ id: Int, origin name: String, isShared: Bool?) -> [Int] {
        if let isShared {
            learn(name, isShared)
        } else if origins[name]?.explorer == id {
            origins[name]?.explorer = nil
            let isAlone = origins[name]?.line.isEmpty ?? true
            origins[name]?.isExclusive = !isAlone
        }
        origins[name]?.active -= 1
        return admitted()
    }

    private mutating func learn(_ name: String, _ isShared: Bool) {
        origins[name]?.explorer = nil
        origins[name]?.isShared = isShared
        origins[name]?.isExclusive = !isShared
    }

    private mutating func admitted() -> [Int] {
        var admitted: [Int] = []
        while let (name, origin) = next() {
            admitted.append(origin.line[0])
            origins[name]?.line.removeFirst()
            origins[name]?.active += 1
            let turn = newTurn()
            origins[name]?.turn = turn
        }
        return admitted
    }

    private func next() -> (String, Origin)? {
        let ready = origins.filter { !$0.value.line.isEmpty && hasRoom($0.value) }
        return ready.min { $0.value.turn < $1.value.turn }.map { ($0.key, $0.value) }
    }

    private func hasRoom(_ origin: Origin) -> Bool {
        guard origin.explorer == nil, origin.active < limits.requestsPerOrigin ?? .max else { return false }
        if origin.isShared, origin.active % 100 != 0 { return true }
        return origin.connections < limits.perOrigin
            && origins.values.reduce(0) { $0 + $1.connections } < limits.total
    }

    private mutating func newTurn() -> Int {
        lastTurn += 1
        return lastTurn
    }
}
