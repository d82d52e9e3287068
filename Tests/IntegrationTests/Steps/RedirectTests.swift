import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// Redirects lead from one real server to another.
@Suite(.timeLimit(.minutes(3)))
struct RedirectTests {
    typealias Answer = LoopbackServer.Response

    private static func redirect(_ status: Int = 302, to location: String) -> Answer {
        Answer(status, headers: [(name: "Location", value: location)], body: Data("elsewhere".utf8))
    }

    /// Returns the names of the field lines that arrived, in lower case.
    private func names(_ server: LoopbackServer) throws -> Set<String> {
        Set(try #require(server.requests.last).fields.map { $0.name.lowercased() })
    }

    @Test(arguments: ["a.example", "127.0.0.1"])
    func secretsStayWithTheirOrigin(_ host: String) async throws {
        let other = try LoopbackServer.http { _ in .text("there") }
        let target = other.url("/there")
        let server = try LoopbackServer.http { request in
            request.path == "/end" ? .text("here") : Self.redirect(to: request.path == "/home" ? "/end" : target)
        }
        var configuration = SessionConfiguration()
        configuration.defaultHeaders[.authorization] = "Bearer of-the-session"
        configuration.steps.cookies = CookieJar()
        configuration.steps.redirects = RedirectPolicy(secretFieldNames: [try #require(HTTPField.Name("X-Mine"))])
        let session = Session(configuration: configuration)
        let request = Request(server.url("/away"))
            .withHeader(.cookie, "a=1")
            .withHeader(try #require(HTTPField.Name("X-Mine")), "1")
            .withHeader(try #require(HTTPField.Name("X-Api-Key")), "2")
            .withHeader(try #require(HTTPField.Name("X-Plain")), "3")
        let (data, response) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "there")
        #expect(response.redirects.map(\.to) == [target])
        #expect(try names(other).isDisjoint(with: ["authorization", "cookie", "x-mine", "x-api-key"]))
        #expect(try names(other).contains("x-plain"))
        var home = request
        home.url = server.url("/home")
        _ = try await session.data(home)
        #expect(try names(server).isSuperset(of: ["authorization", "cookie", "x-mine", "x-api-key"]))
        await session.shutdown()
    }

    /// A location in Latin-1 leads back to the octets that the server has written. The row has the octet in question.
    @Test(
        arguments: [([0xE9], "%E9"), ([0xC3, 0xA9], "%C3%A9"), ([0xEF, 0xBF, 0xBD], "%EF%BF%BD")] as [([UInt8], String)]
    )
    func aLocationMayBeInLatin1(_ octets: [UInt8], _ encoded: String) async throws {
        let server = try LoopbackServer { connection in
            while let head = try connection.readHead() {
                let answer = head.target == "/start" ? "302 Found" : "200 OK"
                try connection.write(
                    Array("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\nX-Target: \(head.target)\r\nLocation: /caf".utf8)
                        + octets + Array("?q=".utf8) + octets + Array("\r\n\r\n".utf8))
            }
        }
        let session = Session()
        let (_, response) = try await session.data("http://127.0.0.1:\(server.port)/start")
        let target = "/caf\(encoded)?q=\(encoded)"
        #expect(response.headers[try #require(HTTPField.Name("X-Target"))] == target)
        #expect(response.redirects.map(\.to) == ["http://127.0.0.1:\(server.port)\(target)"])
        await session.shutdown()
    }

    /// A location that a client must not follow is refused.
    @Test(
        arguments: [
            "file:///etc/passwd", "javascript:alert(1)", "ftp://127.0.0.1/", "data:text/plain,x", "http://", "//",
            "http://a b/", "http://[::1/", "http://%00/", "http://127.0.0.1:99999/", "http:///path",
        ])
    func locationsThatLeadNowhere(_ location: String) async throws {
        let server = try LoopbackServer.http { $0.path == "/end" ? .text("end") : Self.redirect(to: location) }
        let session = Session()
        let error = await #expect(throws: TrellisError.self) { try await session.data(server.url("/start")) }
        #expect(error?.kind == .redirectRefused, "\(String(describing: error))")
        #expect(error?.response?.status == .found)
        #expect(server.requests.count == 1)
        // The session still works.
        #expect(try await session.string(server.url("/end")) == "end")
        await session.shutdown()
    }

    @Test(
        .trellis(
            .http { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number == 0 ? .text("end") : RedirectTests.redirect(to: "/\(number - 1)")
            }))
    func aChainOfTenThousandEndsAtItsLimit() async throws {
        let limit = 150
        let (session, server) = (try #require(Session.current), try #require(LoopbackServer.current))
        let error = await #expect(throws: TrellisError.self) { try await session.data("/10000") }
        #expect(error?.kind == .tooManyRedirects)
        #expect(server.requests.count == 21)
        // A caller may raise the limit. The cost is one connection, and memory for the list.
        let request = Request("/\(limit)").withSteps { $0.redirects = RedirectPolicy(maximumRedirects: limit) }
        let (data, response) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "end")
        #expect(response.redirects.count == limit)
        #expect(server.acceptedCount == 1)
    }

    @Test(arguments: ["", "chunked"])
    func theConnectionIsKeptForTheNextHop(_ framing: String) async throws {
        let server = try LoopbackServer.http { request in
            guard request.path == "/start" else { return .text("end") }
            var answer = Self.redirect(to: "/end")
            if framing == "chunked" { answer.body = .chunked { try $0.write("elsewhere") } }
            return answer
        }
        let session = Session()
        let stream = try await session.stream(server.url("/start"))
        #expect(String(decoding: try await stream.chunks.collect(upTo: 10), as: UTF8.self) == "end")
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func methodsAndBodies(_ status: Int) async throws {
        let server = try LoopbackServer.http { request in
            request.path == "/end"
                ? .text("\(request.method) \(String(decoding: request.body, as: UTF8.self))")
                : Self.redirect(status, to: "end?q#f")
        }
        let session = Session()
        let upload = Request(server.url("/start"), method: .post, body: .string("body"))
        let (data, response) = try await session.data(upload)
        #expect(String(decoding: data, as: UTF8.self) == (status < 307 ? "GET " : "POST body"))
        #expect(response.redirects.first?.to == server.url("/end?q"))
        // A body that can be read only once is not sufficient for 307 and 308, which send the body again.
        let chunks = AsyncStream {
            $0.yield(Data("body".utf8)); $0.finish()
        }
        let once = Request(server.url("/start"), method: .post, body: .stream(chunks, length: 4))
        if status < 307 {
            _ = try await session.data(once)
        } else {
            let error = await #expect(throws: TrellisError.self) { try await session.data(once) }
            #expect(error?.kind == .bodyNotReplayable)
        }
        await session.shutdown()
    }
}
