/// A message of the kernel about its network (rtnetlink(7)), and the reading of its parts. Every length is checked: a message that
/// contradicts itself has no further parts.
struct NetlinkMessage {
    /// The types of messages that are read; see `linux/netlink.h` and `linux/rtnetlink.h`.
    enum Kind {
        static let failure: UInt16 = 2
        static let done: UInt16 = 3
        static let overrun: UInt16 = 4
        static let newLink: UInt16 = 16
        static let deletedLink: UInt16 = 17
        static let getLink: UInt16 = 18
        static let newAddress: UInt16 = 20
        static let deletedAddress: UInt16 = 21
        static let getAddresses: UInt16 = 22
        static let newRoute: UInt16 = 24
        static let deletedRoute: UInt16 = 25
        static let getRoutes: UInt16 = 26
    }

    /// The flag of replies that may contradict each other, because something changed between them.
    static let interruptedFlag: UInt16 = 0x10

    let kind: UInt16
    let flags: UInt16
    /// The number of the request; 0 in notifications.
    let sequence: UInt32
    /// The part after the header.
    let payload: NetlinkBytes

    /// Reads the messages that were received at once.
    static func all(in bytes: [UInt8]) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = NetlinkBytes(bytes[...])
        while let length = rest.uint32(at: 0).map(Int.init), length >= 16, length <= rest.count {
            guard let kind = rest.uint16(at: 4), let flags = rest.uint16(at: 6), let sequence = rest.uint32(at: 8)
            else { break }
            messages.append(
                NetlinkMessage(kind: kind, flags: flags, sequence: sequence, payload: rest.part(16, length)))
            rest = rest.after(length)
        }
        return messages
    }
}

/// Bytes of a message, with numbers in the byte order of the machine.
struct NetlinkBytes {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var count: Int { bytes.count }

    /// The bytes as an array.
    var array: [UInt8] { Array(bytes) }

    /// Returns the byte at a position; `nil` beyond the end.
    func uint8(at position: Int) -> UInt8? { position < count ? bytes[bytes.startIndex + position] : nil }

    /// Returns the number of two bytes at a position; `nil` beyond the end.
    func uint16(at position: Int) -> UInt16? { number(at: position) }

    /// Returns the number of four bytes at a position; `nil` beyond the end.
    func uint32(at position: Int) -> UInt32? { number(at: position) }

    private func number<Number: FixedWidthInteger & UnsignedInteger>(at position: Int) -> Number? {
        let size = Number.bitWidth / 8
        guard position + size <= count else { return nil }
        let start = bytes.startIndex + position
        return Number(littleEndian: bytes[start..<start + size].reversed().reduce(0) { $0 << 8 | Number($1) })
    }

    /// Returns the bytes between two positions, as far as there are any.
    func part(_ start: Int, _ end: Int) -> NetlinkBytes {
        NetlinkBytes(bytes.prefix(end).dropFirst(start))
    }

    /// Returns the bytes after a part with this length, which is padded to a multiple of four.
    func after(_ length: Int) -> NetlinkBytes { NetlinkBytes(bytes.dropFirst((length + 3) & ~3)) }

    /// Returns the attributes from a position on, as their types and values. An attribute that occurs again replaces the first one.
    func attributes(from position: Int) -> [UInt16: NetlinkBytes] {
        var attributes: [UInt16: NetlinkBytes] = [:]
        var rest = part(position, count)
        while let length = rest.uint16(at: 0).map(Int.init), length >= 4, length <= rest.count,
            let type = rest.uint16(at: 2)
        {
            // The two highest bits describe the value.
            attributes[type & 0x3fff] = rest.part(4, length)
            rest = rest.after(length)
        }
        return attributes
    }
}
