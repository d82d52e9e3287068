import Testing
import Trellis
import TrellisTesting

/// Expects that work fails at a limit on time of its session, which a clock reaches when the peer has reached a stage.
///
/// Bytes of the peer may reach the engine after the stage, and the limit counts from them. Therefore the clock is moved until the work has
/// ended (``TrellisTesting/TestClock/advance(by:in:until:)``).
///
/// - Parameters:
///   - limit: The limit, by which the clock is moved each time.
///   - session: The session, which has been made with the clock.
///   - stage: The gate that the peer opens at its stage. The end of the work opens it too.
@discardableResult
func expectTimeout<Success: Sendable>(
    _ kinds: [TrellisError.Kind], after limit: Duration, on clock: TestClock, in session: Session,
    once stage: LoopbackServer.Gate, _ sourceLocation: SourceLocation = #_sourceLocation,
    of work: @escaping @Sendable () async throws -> Success
) async throws -> TrellisError? {
    let ended = LoopbackServer.Gate()
    let task = Task {
        defer {
            ended.open()
            stage.open()
        }
        return await expectFailure(kinds, sourceLocation, of: work)
    }
    try await stage.opened()
    try await clock.move(by: limit, in: session) { ended.isOpen }
    return await task.value
}

extension TestClock {
    /// Moves the clock until something has happened, for a time that counts from an unknown moment.
    ///
    /// Each wait for the session takes twice as much of the system's time as the one before, so that the clock is moved a few times at most,
    /// and does not reach later limits while the threads of the machine are busy.
    func move(by step: Duration, in session: Session, until isOver: @Sendable () -> Bool) async throws {
        var wait = Duration.milliseconds(2)
        while !isOver() {
            let end = ContinuousClock.now + wait
            repeat {
                try Task.checkCancellation()
                await session.settle()
            } while !isOver() && ContinuousClock.now < end
            if !isOver() { move(by: step) }
            wait *= 2
        }
    }
}

/// A limit on idleness that comes long before all others.
extension Timeouts {
    /// The limit.
    static let idleLimit = Duration.seconds(20)
    static let soonIdle = Timeouts(idle: idleLimit, total: nil)
}

/// Pieces of text that a peer sends one by one, and between which a test moves its clock.
struct PacedPieces: Sendable {
    let pieces: [String]
    private let sent: [LoopbackServer.Gate]
    private let next: [LoopbackServer.Gate]

    init(_ pieces: [String]) {
        self.pieces = pieces
        sent = pieces.map { _ in LoopbackServer.Gate() }
        next = pieces.map { _ in LoopbackServer.Gate() }
    }

    /// Sends the pieces, and waits behind each until the clock was moved. Pieces that can no longer be sent count as sent.
    func write(to connection: LoopbackServer.Connection) throws {
        defer { for gate in sent { gate.open() } }
        for (index, piece) in pieces.enumerated() {
            try connection.write(piece)
            connection.waitUntilReceived()
            sent[index].open()
            try connection.wait(for: next[index])
        }
        connection.waitUntilPeerCloses()
    }

    /// Moves a clock by a step behind each piece.
    func advance(_ clock: TestClock, by step: Duration, in session: Session) async throws {
        for (sent, next) in zip(sent, next) {
            try await sent.opened()
            await session.settle()
            clock.move(by: step)
            next.open()
        }
    }
}
