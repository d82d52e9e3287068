import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Cookie files that the curl command reads and writes.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Shell.hasCURL, "there is no /usr/bin/curl"))
struct CookieCURLTests: ~Copyable {
    private let path = NSTemporaryDirectory() + "/trellis-\(UUID().uuidString).txt"
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer.http { request in
            guard request.path == "/set" else { return .text(request["cookie"] ?? "none") }
            return .init(headers: [
                ("Set-Cookie", "session=1; Path=/"), ("Set-Cookie", "lasting=\"two\"; Max-Age=3600; HttpOnly; Path=/"),
                ("Set-Cookie", "deep=3; Path=/deep"), ("Set-Cookie", "empty=; Path=/"),
            ])
        }
    }

    deinit {
        for suffix in ["", ".lock"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    @Test func whatCURLWritesIsRead() async throws {
        _ = await Shell.output(of: "curl -s -c '\(path)' \(server.url("/set")) >/dev/null")
        let jar = CookieFile(path: path)
        let cookies = await jar.cookies(for: server.url("/deep/x"))
        // curl sends the newest cookie of equal paths first.
        #expect(
            cookies.map(\.name).first == "deep"
                && cookies.map(\.name).sorted() == ["deep", "empty", "lasting", "session"])
        #expect(cookies.map(\.value).sorted() == ["", "\"two\"", "1", "3"])
        let lasting = try #require(await jar.all.first { $0.name == "lasting" })
        #expect(lasting.isHTTPOnly && lasting.isPersistent && lasting.isHostOnly)
    }

    @Test func whatIsWrittenCURLReads() async throws {
        let jar = CookieFile(path: path)
        await jar.store(
            ["session=1", "lasting=\"two\"; Max-Age=3600; HttpOnly", "secure=0; Secure", "empty="],
            from: server.url("/set"))
        await jar.store(["secure=1; Secure"], from: "https://127.0.0.1/")
        await jar.store(["strange=1"], from: "http://127.0.0.2/")
        let sent = await Shell.output(of: "curl -s -b '\(path)' \(server.url("/"))")
        let names = String(decoding: sent, as: UTF8.self).split(separator: "; ").sorted()
        // curl treats cookies that stay on the machine as secure.
        #expect(names == ["empty=", "lasting=\"two\"", "secure=1", "session=1"])
    }

    @Test func bothTakeTurns() async throws {
        let jar = CookieFile(path: path)
        await jar.store(["own=0"], from: server.url("/"))
        _ = await Shell.output(of: "curl -s -b '\(path)' -c '\(path)' \(server.url("/set")) >/dev/null")
        await jar.store(["session=2"], from: server.url("/"))
        let sent = await Shell.output(of: "curl -s -b '\(path)' \(server.url("/"))")
        let names = String(decoding: sent, as: UTF8.self).split(separator: "; ").sorted()
        #expect(names == ["empty=", "lasting=\"two\"", "own=0", "session=2"])
    }
}
