import Foundation
import Trellis

/// The code of the page "Load balancing".
enum LoadBalancing {
    static func fixed(_ configuration: inout SessionConfiguration) throws {
        let servers = try (1...10).map { try Endpoint("10.0.0.\($0):8443") }
        configuration.endpoints["https://orders.internal"] = EndpointPool(servers)
        configuration.retry = RetryPolicy()
    }

    static func sources(_ configuration: inout SessionConfiguration) {
        configuration.endpoints["https://users.internal"] = EndpointPool(
            addressesOf: "users.internal", every: .seconds(10))
        configuration.endpoints["https://stock.internal"] = EndpointPool(
            discovery: WatchedFile(path: "/etc/stock.endpoints"))
    }

    struct WatchedFile: ServiceDiscovery {
        let path: String

        func endpoints(of origin: String) -> AsyncThrowingStream<[Endpoint], any Error> {
            AsyncThrowingStream { continuation in
                let task = Task {
                    do {
                        while !Task.isCancelled {
                            let text = try String(contentsOfFile: path, encoding: .utf8)
                            continuation.yield(try text.split(separator: "\n").map { try Endpoint(String($0)) })
                            try await Task.sleep(for: .seconds(5))
                        }
                    } catch {
                        continuation.finish(throwing: error)
                    }
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }

    static func policies(_ configuration: inout SessionConfiguration) -> Request {
        configuration.endpoints["https://orders.internal"]?.policy = .leastRequests
        configuration.endpoints["https://orders.internal"]?.zone = "eu-1a"
        let request = Request("https://orders.internal/carts/7").withEndpointKey("cart-7")
        return request
    }

    static func ejection(_ configuration: inout SessionConfiguration) {
        configuration.endpoints["https://orders.internal"]?.ejection?.consecutiveFailures = 3
        configuration.endpoints["https://orders.internal"]?.ejection?.maximumShare = 0.3
    }
}
