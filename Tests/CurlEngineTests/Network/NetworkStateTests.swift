import Testing
import TrellisTesting

@testable import CurlEngine

/// The state of the network according to messages that a kernel (6.18) has sent.
struct NetworkStateTests {
    /// Returns a message with a payload in hexadecimal digits.
    static func message(_ kind: UInt16, _ payload: String, flags: UInt16 = 2, sequence: UInt32 = 7) -> [UInt8] {
        let bytes = bytes(payload)
        let length = UInt32(bytes.count + 16)
        let header = [length, UInt32(kind) | UInt32(flags) << 16, sequence, 0]
        return header.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } } + bytes
            + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    static func bytes(_ digits: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits.utf8 {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue.map(UInt8.init) else { continue }
            if let first = high { bytes.append(first << 4 | value) }
            high = high == nil ? value : nil
        }
        return bytes
    }

    static func state(_ messages: [UInt8]...) -> NetworkState {
        var state = NetworkState()
        for message in messages { for part in NetlinkMessage.all(in: message) { state.add(part) } }
        return state
    }

    /// The messages begin with the same bytes as the recorded ones; most of the attributes that are not read are left out.
    enum Recorded {
        static let loopback = message(16, "0000 0403 01000000 49000100 00000000 0700 0300 6c6f0000 0800 0d00 e8030000")
        /// A link between two containers, without an address.
        static let veth = message(
            16,
            """
            0000 0100 03000000 43100100 00000000 0a00 0300 76657468300000 00 0800 0d00 e8030000 0500 1000 06000000
            2000 1200 0900 0100 7665746800 000000 0800 0500 02000000 0800 0400 00000000
            """)
        static let vethWithoutCarrier = message(
            16, "0000 0100 03000000 03100000 00000000 0a00 0300 76657468300000 00")
        static let vethDown = message(16, "0000 0100 03000000 02100000 01000000 0a00 0300 76657468300000 00")
        /// The same link, as the port of a bridge.
        static let bridgePort = message(16, "0700 0100 03000000 02100000 00000000 0a00 0300 76657468300000 00")
        static let modem = message(16, "0000 0702 05000000 d1100100 00000000 0a00 0300 7777616e300000 00")
        static let modemByDriver = message(
            16, "0000 0702 05000000 d1100100 00000000 0900 0300 7473643000 000000 1000 1200 0900 0100 7777616e00 000000"
        )
        static let address = message(
            20,
            """
            0218 8000 03000000 0800 0100 c0000202 0800 0200 c0000202 0a00 0300 76657468300000 00 0800 0800 80000000
            1400 0600 ffffffff ffffffff 10ac0100 10ac0100
            """)
        static let pointToPoint = message(20, "0220 8000 03000000 0800 0100 0a000001 0800 0200 0a000002")
        static let address6 = message(
            20, "0a40 8200 03000000 1400 0100 20010db8000000000000000000000002 0800 0800 82000000")
        static let route = message(
            24, "02000000 fe030001 00000000 0800 0f00 fe000000 0800 0500 c0000201 0800 0400 03000000")
        static let route6 = message(
            24,
            """
            0a000000 fe030001 00000000 0800 0f00 fe000000 0800 0600 05000000
            1400 0500 20010db8000000000000000000000001 0800 0400 03000000
            """)
        static let routeByModem = message(
            24, "02000000 fe03fd01 00000000 0800 0f00 fe000000 0800 0600 64000000 0800 0400 05000000")
        static let twoRouters = message(
            24,
            """
            02000000 fe030001 00000000 0800 0f00 fe000000
            2400 0900 1000 0000 03000000 0800 0500 c0000201 1000 0000 05000000 0800 0500 c0000203
            """)
        static let withoutLink = message(24, "02000000 fe030001 00000000 0800 0f00 fe000000 0800 1e00 01000000")
        static let blackhole = message(
            24, "0a000000 fe030006 00000000 0800 0f00 fe000000 0800 0600 63000000 0800 0400 01000000")
        static let local = message(24, "02000000 ff020001 00000000 0800 0f00 ff000000 0800 0400 03000000")
        static let cloned = message(24, "0a000000 fe020001 00020000 0800 0f00 fe000000 0800 0400 03000000")
        static let ownNetwork = message(
            24, "02180000 fe02fd01 00000000 0800 0f00 fe000000 0800 0100 c0000200 0800 0400 03000000")
        static let multicast = message(24, "82000000 fe030001 00000000 0800 0400 03000000")
    }

    @Test(
        arguments: [
            ("nothing", [], .nowhere),
            ("the loopback", [Recorded.loopback, Recorded.local], .nowhere),
            ("a link without a route", [Recorded.veth, Recorded.address, Recorded.ownNetwork], .nowhere),
            ("a route", [Recorded.loopback, Recorded.veth, Recorded.route], .ethernetOrWiFi),
            ("a route before its link", [Recorded.route, Recorded.veth], .ethernetOrWiFi),
            ("a route of IPv6", [Recorded.veth, Recorded.route6], .ethernetOrWiFi),
            ("no carrier", [Recorded.vethWithoutCarrier, Recorded.route], .nowhere),
            ("a link that is down", [Recorded.vethDown, Recorded.route], .nowhere),
            (
                "a link that the port of a bridge does not change",
                [Recorded.veth, Recorded.bridgePort, Recorded.route],
                .ethernetOrWiFi
            ),
            ("a route without its link", [Recorded.loopback, Recorded.route], .nowhere),
            ("a modem", [Recorded.modem, Recorded.routeByModem], .cellular),
            ("a modem by its driver", [Recorded.modemByDriver, Recorded.routeByModem], .cellular),
            (
                "the lower metric", [Recorded.modem, Recorded.veth, Recorded.routeByModem, Recorded.route],
                .ethernetOrWiFi
            ),
            (
                "the only link that is up", [Recorded.modem, Recorded.vethDown, Recorded.routeByModem, Recorded.route],
                .cellular
            ),
            ("two routers", [Recorded.modem, Recorded.veth, Recorded.twoRouters], .ethernetOrWiFi),
            ("two routers, one of which is up", [Recorded.modem, Recorded.vethDown, Recorded.twoRouters], .cellular),
            ("a route that names no link", [Recorded.veth, Recorded.withoutLink], .ethernetOrWiFi),
            ("a route that names no link, and none is up", [Recorded.loopback, Recorded.withoutLink], .nowhere),
            ("a route that drops everything", [Recorded.loopback, Recorded.veth, Recorded.blackhole], .nowhere),
            ("a route of local addresses", [Recorded.veth, Recorded.local], .nowhere),
            ("a copy of a route", [Recorded.veth, Recorded.cloned], .nowhere),
            ("a route of another family", [Recorded.veth, Recorded.multicast], .nowhere),
        ] as [(String, [[UInt8]], NetworkState.Reach)])
    func theWayToOthers(_ name: String, _ messages: [[UInt8]], _ reach: NetworkState.Reach) {
        // One message at a time, and all at once.
        #expect(Self.state(messages.flatMap(\.self)).reach == reach)
        var state = NetworkState()
        for message in messages.flatMap(NetlinkMessage.all) { state.add(message) }
        #expect(state.reach == reach)
    }

    @Test func addresses() {
        let state = Self.state(Recorded.address, Recorded.pointToPoint, Recorded.address6)
        let all = Set(["192.0.2.2", "10.0.0.2", "2001:db8::2"].compactMap { IPAddress($0) })
        #expect(state.carriedAddresses == all && state.addresses(on: [3]) == all && state.addresses(on: [4]).isEmpty)
    }

    /// Addresses stay on a link without a carrier, and the loopback has none either.
    @Test func addressesWithoutACarrier() throws {
        let local = Self.message(20, "0208 80fe 01000000 0800 0200 7f000001")
        let loopback = try #require(IPAddress("127.0.0.1"))
        for link in [Recorded.vethWithoutCarrier, Recorded.vethDown] {
            let state = Self.state(Recorded.loopback, local, link, Recorded.address)
            #expect(state.carriedAddresses == [loopback] && state.addresses(on: [3]).count == 1)
        }
        #expect(Self.state(Recorded.loopback, local, Recorded.veth, Recorded.address).carriedAddresses.count == 2)
    }

    /// Only the addresses on the link of a default route belong to the way to other networks.
    @Test func uplinks() {
        let base = Self.state(Recorded.veth, Recorded.address, Recorded.route)
        let container = Self.message(20, "0210 8000 09000000 0800 0200 ac110001")
        let more = Self.state(Recorded.veth, Recorded.address, Recorded.route, Recorded.loopback, container)
        #expect(base != more && base.uplinks == more.uplinks && base.uplinks.count == 1)
        let other = Self.state(Recorded.veth, Recorded.address, Recorded.route, Recorded.address6)
        #expect(other.uplinks != base.uplinks)
        #expect(Self.state(Recorded.vethDown, Recorded.address, Recorded.route).uplinks.isEmpty)
    }

    @Test(
        arguments: [
            (24, Recorded.route, true), (24, Recorded.ownNetwork, false), (20, Recorded.address, true),
            (16, Recorded.veth, true),
        ] as [(UInt16, [UInt8], Bool)])
    func notificationsThatMatter(_ kind: UInt16, _ bytes: [UInt8], _ isConcerned: Bool) throws {
        let message = try #require(NetlinkMessage.all(in: bytes).first)
        #expect(message.kind == kind && NetworkState.isConcerned(by: message) == isConcerned)
    }

    // MARK: Malformed messages

    @Test(
        arguments: [
            ("nothing", ""), ("half a header", "1000000010000000"),
            ("shorter than its header", "0f000000 10000000 00000000 00000000"),
            ("longer than everything", "ffffffff 10000000 00000000 00000000"),
            ("zero", "00000000 00000000 00000000 00000000"),
        ])
    func noMessages(_ name: String, _ digits: String) {
        #expect(NetlinkMessage.all(in: Self.bytes(digits)).isEmpty)
    }

    /// An attribute that is too short or too long ends the attributes.
    @Test(arguments: ["0300 0400", "0000 0400", "ffff 0400 03000000"])
    func brokenAttributes(_ attribute: String) {
        let route = Self.message(24, "02000000 fe030001 00000000 \(attribute) 0800 0400 03000000")
        let state = Self.state(Recorded.loopback, Recorded.vethDown, route)
        #expect(state.defaultRoutes.first?.links == [] && state.reach == .nowhere)
    }

    /// Messages that are cut anywhere, and messages with random bytes, end in some state.
    @Test func anyBytes() {
        let whole = [
            Recorded.veth, Recorded.modemByDriver, Recorded.address, Recorded.address6, Recorded.route6,
            Recorded.twoRouters,
        ]
        for message in whole {
            for count in message.indices {
                _ = Self.state(Array(message[..<count])).uplinks
                // With a length that claims to be right.
                var cut = Array(message[..<count])
                if count > 0 { cut[0] = UInt8(count) }
                _ = Self.state(cut).uplinks
            }
        }
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<20_000 {
            var bytes = whole.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let index = Int.random(in: 4..<bytes.count, using: &generator)
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = Self.state(bytes).reach
        }
    }
}
