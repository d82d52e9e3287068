/// The links without a carrier, and those that were shut down, according to the kernel's notifications.
///
/// The addresses of such a link stay, and so do the connections from them: the kernel then reports no removed address.
struct LostLinks {
    private var links: Set<Int32> = []

    /// Takes a notification, and returns the number of the link that was lost with it; `nil` if none was. The kernel notifies of a lost
    /// link again when something else of the link changes.
    mutating func take(_ message: NetlinkMessage) -> Int32? {
        let payload = message.payload
        guard let (index, flags) = NetworkState.link(in: payload) else { return nil }
        switch message.kind {
        case NetlinkMessage.Kind.newLink where flags.isUsable || flags.isLoopback:
            links.remove(index)
            return nil
        case NetlinkMessage.Kind.newLink:
            // `ifi_change` of `struct ifinfomsg`: all flags of a link that was made just now are new. It had no connections.
            let isNew = payload.uint32(at: 12) == UInt32.max
            return links.insert(index).inserted && !isNew ? index : nil
        case NetlinkMessage.Kind.deletedLink:
            // The addresses of the link are removed with other notifications.
            links.remove(index)
            return nil
        default: return nil
        }
    }
}
