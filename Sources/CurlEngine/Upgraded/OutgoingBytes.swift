import FoundationEssentials
private import Glibc

/// The bytes that a connection has still to send, in order.
///
/// TLS requires that bytes which could not be sent are offered again at the same address, in the same number. Therefore the bytes never
/// move: few bytes are copied into blocks of memory, and the memory of many bytes is shared.
struct OutgoingBytes: ~Copyable {
    /// The size in bytes from which the memory is shared and not copied.
    private static let smallestShared = 16 << 10
    /// The same if no other bytes wait, with which few bytes are collected.
    private static let smallestSharedAlone = 256

    private var pieces = FIFO<OutgoingPiece>()
    /// The number of bytes of the first piece that were sent.
    private var sent = 0
    /// The last piece, if it is a block that may have room.
    private var open: OutgoingBlock?
    /// The number of bytes that were offered last and not taken; `nil` if all of them were taken.
    private var offered: Int?
    /// The number of bytes that were not sent.
    private(set) var count = 0

    /// Adds bytes, whose memory is shared if they are many. Returns `false` if memory has run out.
    mutating func append(_ bytes: Data) -> Bool {
        guard bytes.count >= (pieces.isEmpty ? Self.smallestSharedAlone : Self.smallestShared) else {
            return append(bytes.bytes)
        }
        open = nil
        pieces.append(.data(bytes))
        count += bytes.count
        return true
    }

    /// Adds a copy of bytes. Returns `false` if memory has run out.
    mutating func append(_ bytes: RawSpan) -> Bool {
        guard !bytes.isEmpty else { return true }
        if open?.append(bytes) != true {
            // The first bytes are mostly all of them.
            let capacity = pieces.isEmpty ? bytes.byteCount : max(bytes.byteCount, Self.smallestShared)
            guard let block = OutgoingBlock(capacity: capacity), block.append(bytes) else { return false }
            open = block
            pieces.append(.block(block))
        }
        count += bytes.byteCount
        return true
    }

    /// Returns the next bytes to send, if any.
    mutating func next() -> OutgoingSlice? {
        guard let piece = pieces.peek else { return nil }
        let count = offered ?? piece.count - sent
        offered = count
        return OutgoingSlice(piece: piece, range: sent..<sent + count)
    }

    /// Removes bytes that were sent.
    mutating func remove(_ sentCount: Int) {
        offered = nil
        count -= sentCount
        sent += sentCount
        guard let piece = pieces.peek, sent >= piece.count else { return }
        sent = 0
        _ = pieces.popFirst()
        if pieces.isEmpty { open = nil }
    }

    /// Removes all bytes.
    mutating func removeAll() {
        pieces = FIFO()
        (sent, open, offered, count) = (0, nil, nil, 0)
    }
}

/// The owner of some of the outgoing bytes.
enum OutgoingPiece: Sendable {
    case block(OutgoingBlock)
    case data(Data)

    var count: Int {
        switch self {
        case .block(let block): block.count
        case .data(let data): data.count
        }
    }
}

/// The bytes that are sent next.
struct OutgoingSlice: Sendable {
    let piece: OutgoingPiece
    let range: Range<Int>

    /// Calls `body` with the bytes, whose address is always the same.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch piece {
        case .block(let block): unsafe body(UnsafeRawBufferPointer(rebasing: block.bytes[range]))
        // The bytes are too many to be part of the value itself, so that all copies of the value share their memory.
        case .data(let data): unsafe data.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }
}

/// A block of memory that is filled once.
@safe
final class OutgoingBlock: @unchecked Sendable {
    // Unchecked: the lock of the connection guards `count`, and bytes that were added do not change.
    let bytes: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    /// Creates an empty block; `nil` if memory has run out.
    init?(capacity: Int) {
        guard let start = unsafe malloc(capacity) else { return nil }
        unsafe bytes = UnsafeMutableRawBufferPointer(start: start, count: capacity)
    }

    deinit { unsafe free(bytes.baseAddress) }

    /// Adds bytes. Returns `false` if there is no room for them.
    func append(_ added: RawSpan) -> Bool {
        guard unsafe added.byteCount <= bytes.count - count else { return false }
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        unsafe added.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        count += added.byteCount
        return true
    }
}
