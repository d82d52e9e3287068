#if Redis
import CurlEngine
import FoundationEssentials

/// The making of a connection, by a transfer that sends no request.
final class RedisOpening: TransferDelegate, EngineTimerTarget {
    private var reply: Reply<SwitchedConnection>?
    /// The transfer, until it has ended.
    var transfer: Transfer?

    init(_ reply: Reply<SwitchedConnection>) { self.reply = reply }

    /// The end of the thread ends no transfer: it releases it.
    deinit { reply?.resume(with: .failure(RedisFailure.unavailable)) }

    private func end(_ result: Result<SwitchedConnection, any Error>) {
        let reply = reply.take()
        reply?.resume(with: result)
    }

    func timerIsDue() {
        guard reply != nil else { return }
        transfer?.cancel()
        transfer = nil
        end(.failure(RedisFailure.disconnected(reason: "it took too long to make")))
    }

    func transferDidSwitchProtocols(_ head: WireHead, _ connection: SwitchedConnection) {
        // The time of the timer may be over already.
        guard reply != nil else { return connection.close() }
        end(.success(connection))
    }

    func transferDidEnd(_ end: consuming TransferEnd) {
        transfer = nil
        self.end(.failure(RedisFailure.disconnected(reason: end.failure?.message ?? "the server has ended it")))
    }

    func transferIsConnected() {}
    func transferDidReceiveInformational(_ head: WireHead) {}
    func transferDidReceiveHead(_ head: consuming WireHead) {}
    func transferDidReceiveBody(_ bytes: RawSpan) {}
    func transferNeedsBody() {}
}
#endif
