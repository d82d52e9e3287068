import Testing

@testable import CurlEngine

/// The links that are lost according to messages that a kernel (6.18) has sent.
struct LostLinksTests {
    private typealias Recorded = NetworkStateTests.Recorded

    /// Returns the links that are lost with each of some messages.
    private func lost(_ messages: [UInt8]...) -> [Int32?] {
        var links = LostLinks()
        return messages.flatMap(NetlinkMessage.all).map { links.take($0) }
    }

    @Test func aLinkIsLostOnce() {
        #expect(lost(Recorded.veth, Recorded.vethWithoutCarrier, Recorded.vethWithoutCarrier) == [nil, 3, nil])
        // Something else of the link has changed.
        #expect(lost(Recorded.vethWithoutCarrier, Recorded.vethDown) == [3, nil])
        #expect(lost(Recorded.veth, Recorded.veth) == [nil, nil])
    }

    @Test func aLinkIsLostAgainAfterItsReturn() {
        #expect(lost(Recorded.vethDown, Recorded.veth, Recorded.vethWithoutCarrier) == [3, nil, 3])
    }

    /// A number can be that of another link later.
    @Test func aLinkThatIsRemovedIsForgotten() {
        let removed = NetworkStateTests.message(17, "0000 0100 03000000 02100000 ffffffff")
        #expect(lost(Recorded.vethDown, removed, Recorded.vethDown) == [3, nil, 3])
    }

    /// The link begins without a carrier, and has no connections yet.
    @Test func aNewLinkIsNotLost() {
        let made = NetworkStateTests.message(16, "0000 0100 03000000 02100000 ffffffff")
        #expect(lost(made, Recorded.vethDown, Recorded.veth, Recorded.vethDown) == [nil, nil, nil, 3])
    }

    @Test func theLoopbackIsNotLost() {
        let down = NetworkStateTests.message(16, "0000 0403 01000000 08000000 01000000")
        #expect(lost(Recorded.loopback, down) == [nil, nil])
    }

    /// The message of a bridge's port has the number of the link, and its own flags. So has the one of a port that leaves its bridge.
    @Test func portsAndAddressesAreNoLinks() {
        let left = NetworkStateTests.message(17, "0700 0100 03000000 43100100 00000000")
        #expect(lost(Recorded.bridgePort, Recorded.address, Recorded.vethDown, left) == [nil, nil, 3, nil])
        #expect(lost(Recorded.vethDown, left, Recorded.vethDown) == [3, nil, nil])
    }
}
