import Foundation
import Testing
import Trellis
import TrellisTesting

@testable import Programs

@Suite(.timeLimit(.minutes(15))) struct FromAsyncHTTPClientTests {
    private static func respond(to request: LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response {
        switch request.path {
        case "/item": .json(#"{"name":"cup"}"#)
        case "/items" where request["Authorization"] == "Basic YWRhOnBhc3M=" && request["X-Trace"] == "2":
            .init(201, headers: [("Content-Type", "application/json")], body: request.body)
        case "/lines": .text(String(decoding: request.body, as: UTF8.self).uppercased())
        case "/big": .init(body: Data(count: 3 << 20))
        case "/loop": .init(302, headers: [("Location", "/loop?\(request.query ?? "")x")])
        default: .init(404)
        }
    }

    @Test func everySectionDoesWhatItDid() async throws {
        let authority = try TestAuthority()
        let server = try LoopbackServer.https(
            tls: LoopbackServer.TLS(authority: authority, names: ["shop.test"]), Self.respond)
        let folder = FileManager.default.temporaryDirectory.appending(path: "shop-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try authority.certificate.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)

        let base = "https://shop.test:\(server.port)"
        let shop = try Shop(base: base, authority: "\(folder)/ca.pem", addresses: "shop.test:*:127.0.0.1")
        #expect(try await shop.item() == Item(name: "cup"))
        #expect(try await shop.summary(of: "/none") == "404 1.1 - 0")
        #expect(try await shop.add(Item(name: "tea")) == Item(name: "tea"))
        #expect(try await shop.send(["one", "two"]) == "ONE\nTWO\n")
        #expect(try await shop.count("/big") == 3 << 20)
        #expect(try await shop.save("/big", to: "\(folder)/big") == 3 << 20)
        #expect(try await shop.failure(of: "\(base)/big") == .bodyTooLarge)
        #expect(try await shop.failure(of: "\(base)/loop") == .tooManyRedirects)
        #expect(try await shop.failure(of: "\(base)/item", timeout: .zero) == .totalTimeout)
        #expect(try await shop.failure(of: "http://127.0.0.1:1/") == .connect)
        #expect(try await shop.items(10).count == 10)
        await shop.end()
        #expect(try await shop.failure(of: "\(base)/item") == .cancelled)
    }

    @Test func anotherAuthorityIsNotTrusted() async throws {
        let server = try LoopbackServer.https(Self.respond)
        let file = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try TestAuthority().certificate.write(toFile: file, atomically: true, encoding: .utf8)
        let shop = try Shop(base: server.url(""), authority: file, addresses: "shop.test:*:127.0.0.1")
        #expect(try await shop.failure(of: server.url("/item", host: "localhost")) == .untrusted)
    }
}
