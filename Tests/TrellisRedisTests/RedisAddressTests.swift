#if Redis
import CurlEngine
import Foundation
import Testing

@testable import TrellisCore
@testable import TrellisRedis

/// The address of a server, and what is said first on a connection.
struct RedisAddressTests {
    @Test(
        arguments: [
            ("redis://localhost", "http://localhost:6379/", "redis://localhost:6379"),
            ("redis://10.0.0.1:7000/", "http://10.0.0.1:7000/", "redis://10.0.0.1:7000"),
            ("rediss://cache.example", "https://cache.example:6379/", "rediss://cache.example:6379"),
            ("rediss://cache.example:443", "https://cache.example/", "rediss://cache.example:443"),
            ("redis://cache.example:80", "http://cache.example/", "redis://cache.example:80"),
            ("redis://[2001:db8::1]:6380/2", "http://[2001:db8::1]:6380/", "redis://[2001:db8::1]:6380"),
            ("redis://ada:s3cret@cache.example/2", "http://cache.example:6379/", "redis://cache.example:6379"),
        ])
    func hostsAndPorts(_ text: String, _ url: String, _ shown: String) throws {
        let address = try RedisAddress(parsing: text)
        #expect(address.url.text == url && address.text == shown && address.socket == nil)
    }

    @Test(arguments: ["unix:/run/redis.sock", "unix:///run/redis.sock"]) func sockets(_ text: String) throws {
        let address = try RedisAddress(parsing: text)
        #expect(address.socket == "/run/redis.sock" && address.text == "unix:/run/redis.sock")
    }

    @Test(
        arguments: [
            "", "localhost:6379", "http://localhost", "redis://", "redis://a b", "redis://localhost/x",
            "redis://localhost:99999", "unix:redis.sock", "unix://redis.sock",
        ])
    func otherTextsAreNoAddress(_ text: String) {
        #expect {
            try RedisAddress(parsing: text)
        } throws: { error in
            if case RedisFailure.malformedAddress = error { true } else { false }
        }
    }

    @Test func theGreetingHasUserPasswordAndDatabase() throws {
        let info = RedisCommand("INFO", [.text("server")])
        func greeting(_ text: String, _ configuration: RedisConfiguration) throws -> [RedisCommand] {
            try RedisAddress(parsing: text).handshake(configuration)
        }
        #expect(try greeting("redis://localhost", RedisConfiguration()) == [info])
        #expect(
            try greeting("redis://ada:a%20b@localhost/3", RedisConfiguration()) == [
                RedisCommand("AUTH", [.text("ada"), .text("a b")]), RedisCommand("SELECT", [.number(3)]), info,
            ])
        #expect(
            try greeting("redis://:old@localhost", RedisConfiguration(password: "new")) == [
                RedisCommand("AUTH", [.text("new")]), info,
            ])
    }

    @Test func theRunIsFoundInTheAnswer() {
        let text = "# Server\r\nredis_version:7.0.15\r\nrun_id:0123abcd\r\ntcp_port:6379\r\n"
        #expect(RedisAddress.run(in: .bytes(Data(text.utf8))) == "0123abcd")
        #expect(RedisAddress.run(in: .error("NOPERM")) == "" && RedisAddress.run(in: .bytes(Data())) == "")
    }

    @Test func nothingShowsThePassword() throws {
        let server = try RedisServer("redis://ada:s3cret@localhost", RedisConfiguration(password: "s3cret"))
        var dumped = ""
        dump(server, to: &dumped)
        for text in ["\(server)", "\(server.configuration)", String(reflecting: server.configuration), dumped] {
            #expect(!text.contains("s3cret"))
        }
    }
}
#endif
