import Foundation
import Testing
import Trellis
import TrellisTesting

@testable import Programs

/// The tests that the author of `OrderClient` writes for it.
@Suite(.timeLimit(.minutes(15))) struct OrderClientTests {
    /// Servers of which some fail.
    private func servers(_ count: Int, failing: Int = 0) throws -> [LoopbackServer] {
        try (0..<count).map { number in
            try LoopbackServer.http { request in
                guard number >= failing else { return .init(503) }
                let id = request.path.split(separator: "/").last.map(String.init) ?? ""
                return .json(#"{"id": \#(id), "state": "paid at \#(request["Host"] ?? "")"}"#)
            }
        }
    }

    private func client(_ servers: [LoopbackServer]) throws -> OrderClient {
        OrderClient(
            service: "http://orders.internal", servers: try servers.map { try Endpoint("127.0.0.1:\($0.port)") },
            patience: .seconds(3))
    }

    @Test func theServersKnowTheServiceByItsName() async throws {
        let servers = try servers(3)
        let client = try client(servers)
        for id in 1...6 {
            #expect(try await client.order(id) == Order(id: id, state: "paid at orders.internal"))
        }
        #expect(servers.map(\.requests.count) == [2, 2, 2])
        #expect(client.ejectedServers.isEmpty)
    }

    @Test func serversThatFailCostNoCallAndAreLeftOut() async throws {
        let servers = try servers(10, failing: 2)
        let client = try client(servers)
        for id in 1...40 { #expect(try await client.order(id).id == id) }
        let failing = servers.prefix(2)
        #expect(Set(client.ejectedServers) == Set(failing.map { "127.0.0.1:\($0.port)" }))
        #expect(failing.allSatisfy { $0.requests.count == 3 })
    }

    @Test func aServiceWithoutServersIsAnErrorThatSaysSo() async throws {
        let error = await #expect(throws: TrellisError.self) { try await client([]).order(1) }
        #expect(error?.kind == .noEndpoint)
    }
}
