import CurlEngine
import Trellis

/// A monitor that keeps the decisions about proxies, in words.
final class ProxyDecisions: EventMonitor {
    private let words = Locked<[String]>([])

    /// The decisions so far.
    var all: [String] { words.withLock { $0 } }

    func handle(_ event: RequestEvent) async {
        if case .proxySelected(let decision) = event.kind { words.withLock { $0.append("\(decision)") } }
    }
}
