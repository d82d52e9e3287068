private import Glibc

/// The transfers of one engine whose connections libcurl has made and left to the engine, by socket.
@safe
final class OwnConnections {
    /// The most bytes that are received at once.
    static let bufferSize = 64 << 10

    private var transfers: [Int32: Transfer] = [:]
    private var memory: UnsafeMutableRawPointer?

    deinit { unsafe free(memory) }

    /// Indicates whether there are any.
    var exist: Bool { !transfers.isEmpty }

    func transfer(on socket: Int32) -> Transfer? { transfers[socket] }

    func add(_ transfer: Transfer, on socket: Int32) { transfers[socket] = transfer }

    /// Removes a transfer. Its socket may already belong to another transfer.
    func remove(_ transfer: Transfer) {
        guard let socket = transfer.handshake?.socket, transfers[socket] === transfer else { return }
        transfers[socket] = nil
        if transfers.isEmpty { removeAll() }
    }

    /// Forgets all transfers, which refer to their engine.
    func removeAll() {
        transfers = [:]
        unsafe free(memory)
        unsafe memory = nil
    }

    /// The buffer for received bytes, which all connections share; `nil` if memory has run out.
    var buffer: UnsafeMutableRawBufferPointer? {
        if unsafe memory == nil { unsafe memory = malloc(Self.bufferSize) }
        return unsafe memory.map { unsafe UnsafeMutableRawBufferPointer(start: $0, count: Self.bufferSize) }
    }
}
