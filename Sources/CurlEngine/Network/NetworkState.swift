/// The network of the machine at one moment, in the parts that decide whether other machines can be reached: its links, its addresses and
/// its default routes. The value is filled with the kernel's replies.
package struct NetworkState: Hashable, Sendable {
    /// A network interface.
    struct Link: Hashable, Sendable {
        /// Whether the link can carry traffic to other machines: it is up and has a carrier, and is not the loopback.
        var isUsable: Bool
        /// Whether the link is a mobile modem.
        var isCellular: Bool
        /// Whether the link is the loopback.
        var isLoopback = false
    }

    /// The flags of a link (netdevice(7)).
    struct LinkFlags: Hashable {
        let bits: UInt32

        /// IFF_LOOPBACK.
        var isLoopback: Bool { bits & 0x08 != 0 }
        /// IFF_UP and IFF_RUNNING, not on the loopback. A link that does not know whether it has a carrier is running.
        var isUsable: Bool { bits & 0x01 != 0 && bits & 0x40 != 0 && !isLoopback }
    }

    /// An address of the machine on a link.
    struct Address: Hashable, Sendable {
        var link: Int32
        var address: IPAddress
    }

    /// A route to all hosts for which there is no other route.
    struct DefaultRoute: Hashable, Sendable {
        var isIPv6: Bool
        /// The metric: of several routes, the one with the lowest is used.
        var metric: UInt32
        /// The links of the route; several if the traffic is distributed, none if the kernel has not named them.
        var links: [Int32]
        /// The address of the next router; empty if the route has none or several.
        var gateway: [UInt8]
    }

    private(set) var links: [Int32: Link] = [:]
    private(set) var addresses: Set<Address> = []
    private(set) var defaultRoutes: Set<DefaultRoute> = []

    /// Creates a machine without a network.
    package init() {}

    // MARK: Answers

    /// The kind of the way to other machines.
    package enum Reach: Hashable, Sendable {
        /// There is no usable default route.
        case nowhere
        /// The default route uses a mobile modem.
        case cellular
        /// The default route uses another link.
        case ethernetOrWiFi
    }

    /// The way to other machines: the default route with the lowest metric whose link is usable.
    package var reach: Reach {
        guard let lowest = usableRoutes.map(\.metric).min() else { return .nowhere }
        let best = usableRoutes.filter { $0.metric == lowest }
        return best.allSatisfy(isCellular) ? .cellular : .ethernetOrWiFi
    }

    /// A usable default route with the addresses of the machine on its links. Other routes, links and addresses can come and go without an
    /// effect on connections to other networks, for example containers' networks.
    package struct Uplink: Hashable, Sendable {
        let route: DefaultRoute
        let addresses: Set<Address>
    }

    /// The ways to other networks.
    package var uplinks: Set<Uplink> {
        Set(
            usableRoutes.map { route in
                Uplink(route: route, addresses: addresses.filter { route.links.contains($0.link) })
            })
    }

    /// The addresses on links that have a carrier, and on the loopback.
    var carriedAddresses: Set<IPAddress> {
        let carried = addresses.filter { address in
            links[address.link].map { $0.isUsable || $0.isLoopback } ?? true
        }
        return Set(carried.map(\.address))
    }

    /// Returns the addresses on some links.
    func addresses(on links: Set<Int32>) -> Set<IPAddress> {
        Set(addresses.filter { links.contains($0.link) }.map(\.address))
    }

    private var usableRoutes: [DefaultRoute] {
        defaultRoutes.filter { route in
            guard !route.links.isEmpty else { return links.values.contains(where: \.isUsable) }
            return route.links.contains { links[$0]?.isUsable == true }
        }
    }

    private func isCellular(_ route: DefaultRoute) -> Bool {
        let used = route.links.compactMap { links[$0] }.filter(\.isUsable)
        return !used.isEmpty && used.allSatisfy(\.isCellular)
    }

    // MARK: Messages

    /// Adds the link, address or default route that a reply of the kernel describes. Other messages change nothing.
    mutating func add(_ message: NetlinkMessage) {
        let payload = message.payload
        switch message.kind {
        case NetlinkMessage.Kind.newLink: addLink(payload)
        case NetlinkMessage.Kind.newAddress:
            guard let address = Self.address(in: payload) else { return }
            addresses.insert(address)
        case NetlinkMessage.Kind.newRoute:
            guard let route = Self.defaultRoute(in: payload) else { return }
            defaultRoutes.insert(route)
        default: return
        }
    }

    /// Returns whether a notification concerns the state. Most notifications of a router concern routes to single networks.
    static func isConcerned(by message: NetlinkMessage) -> Bool {
        switch message.kind {
        case NetlinkMessage.Kind.newRoute, NetlinkMessage.Kind.deletedRoute: message.payload.uint8(at: 1) == 0
        default: true
        }
    }

    /// Reads the number and the flags of the link of a message; `nil` if the message describes a bridge's port.
    static func link(in payload: NetlinkBytes) -> (index: Int32, flags: LinkFlags)? {
        // `struct ifinfomsg`; a bridge's port has another family than 0.
        guard payload.uint8(at: 0) == 0, let index = payload.uint32(at: 4), let bits = payload.uint32(at: 8)
        else { return nil }
        return (Int32(bitPattern: index), LinkFlags(bits: bits))
    }

    private mutating func addLink(_ payload: NetlinkBytes) {
        guard let (index, flags) = Self.link(in: payload) else { return }
        let attributes = payload.attributes(from: 16)
        let (name, information) = (attributes[3]?.array ?? [], attributes[18]?.attributes(from: 0))
        let driver = information?[1]?.array.prefix { $0 != 0 } ?? []
        // By their names: udev calls mobile modems `ww…`, and phones have `rmnet…`. A modem without either has its driver's name.
        let isCellular =
            name.starts(with: "ww".utf8) || name.starts(with: "rmnet".utf8) || driver.elementsEqual("wwan".utf8)
            || driver.elementsEqual("rmnet".utf8)
        links[index] = Link(isUsable: flags.isUsable, isCellular: isCellular, isLoopback: flags.isLoopback)
    }

    /// Reads the address of a message; `nil` if the message has none.
    static func address(in payload: NetlinkBytes) -> Address? {
        // `struct ifaddrmsg`. On a link between two machines, the second attribute is the local address, and the first one the peer's.
        guard let family = payload.uint8(at: 0), let index = payload.uint32(at: 4) else { return nil }
        let attributes = payload.attributes(from: 8)
        guard let bytes = (attributes[2] ?? attributes[1])?.array, bytes.count == (family == 2 ? 4 : 16),
            let address = IPAddress(bytes: bytes)
        else { return nil }
        return Address(link: Int32(bitPattern: index), address: address)
    }

    private static func defaultRoute(in payload: NetlinkBytes) -> DefaultRoute? {
        // `struct rtmsg`: AF_INET or AF_INET6, with no bits of a destination, in another table than the local addresses', to other
        // machines (RTN_UNICAST), and no copy that the kernel made for one destination (RTM_F_CLONED).
        guard let family = payload.uint8(at: 0), family == 2 || family == 10, payload.uint8(at: 1) == 0,
            payload.uint8(at: 4) != 255, payload.uint8(at: 7) == 1, let flags = payload.uint32(at: 8),
            flags & 0x200 == 0
        else { return nil }
        let attributes = payload.attributes(from: 12)
        var links: [Int32] = []
        if let link = attributes[4]?.uint32(at: 0) { links.append(Int32(bitPattern: link)) }
        // `struct rtnexthop`, one for each router.
        var rest = attributes[9] ?? NetlinkBytes([])
        while let length = rest.uint16(at: 0).map(Int.init), length >= 8, length <= rest.count,
            let link = rest.uint32(at: 4)
        {
            links.append(Int32(bitPattern: link))
            rest = rest.after(length)
        }
        return DefaultRoute(
            isIPv6: family == 10, metric: attributes[6]?.uint32(at: 0) ?? 0, links: links,
            gateway: attributes[5]?.array ?? [])
    }
}
