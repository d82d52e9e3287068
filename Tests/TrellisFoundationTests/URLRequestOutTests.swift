import Foundation
import FoundationNetworking
import HTTPTypes
import Testing
import Trellis
import TrellisFoundation

/// A request becomes a `URLRequest` for `URLSession`.
struct URLRequestOutTests {
    static let url = "http://localhost/a?b=c"

    @Test func methodURLAndFieldsGoOver() throws {
        let request = Request(
            Self.url, method: .init("QUERY") ?? .get, headers: [.accept("a/b"), .userAgent("x/1")])
        let result = try URLRequest(request)
        #expect(result.httpMethod == "QUERY")
        #expect(result.url?.absoluteString == Self.url)
        #expect(result.allHTTPHeaderFields == ["Accept": "a/b", "User-Agent": "x/1"])
        #expect(result.httpBody == nil)
        #expect(result.timeoutInterval == 60)
    }

    @Test func fieldsThatRepeatANameAreJoined() throws {
        let fields = try [
            ("X-A", "1"), ("Cookie", "a=b"), ("x-a", "2"), ("cookie", "c=d"), ("Content-Length", "9"),
            ("Transfer-Encoding", "chunked"),
        ].map { HTTPField(name: try #require(HTTPField.Name($0)), value: $1) }
        let result = try URLRequest(Request(Self.url, headers: HTTPFields(fields)))
        #expect(result.allHTTPHeaderFields == ["X-A": "1, 2", "Cookie": "a=b; c=d"])
    }

    @Test(arguments: ["", "/a", "a", "ftp://localhost/", "file:///a", "http:///a", "mailto:a@b"])
    func aURLThatIsNotOfHTTPIsRefused(_ url: String) {
        #expect { try URLRequest(Request(url)) } throws: { ($0 as? TrellisError)?.kind == .invalidURL }
    }

    @Test func aURLIsPercentEncoded() throws {
        #expect(try URLRequest(Request("http://localhost/ü b")).url?.absoluteString == "http://localhost/%C3%BC%20b")
    }

    @Test func whyAURLCouldNotBeMadeIsThrown() {
        struct Unmakeable: URLConvertible {
            struct Failure: Error {}
            func asURL() throws -> URL { throw Failure() }
        }
        #expect(throws: Unmakeable.Failure.self) { try URLRequest(Request(Unmakeable())) }
    }

    // MARK: Bodies

    @Test(arguments: [(nil, "text/plain; charset=utf-8"), ("a/b", "a/b")] as [(String?, String)])
    func bytesAreTheBody(_ field: String?, _ type: String) throws {
        var request = Request(Self.url, method: .post, body: .string("text"))
        request.headers[.contentType] = field
        let result = try URLRequest(request)
        #expect(result.httpBody == Data("text".utf8))
        #expect(result.allHTTPHeaderFields == ["Content-Type": type])
    }

    @Test(arguments: [1, 70_000])
    func aFormInMemoryIsTheBody(_ size: Int) async throws {
        var form = MultipartFormData()
        form.append(Data(repeating: 1, count: size), withName: "a")
        form.append("b", withName: "c")
        let result = try URLRequest(Request(Self.url, method: .post, body: .multipart(form)))
        #expect(result.httpBody == (try await form.encode()))
        #expect(result.value(forHTTPHeaderField: "Content-Type") == form.contentType)
    }

    @Test func aFileIsAStream() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path
        try Data("of a file".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = try URLRequest(Request(Self.url, method: .post, body: .file(path)))
        let stream = try #require(result.httpBodyStream)
        stream.open()
        defer { stream.close() }
        var bytes = [UInt8](repeating: 0, count: 99)
        let count = unsafe stream.read(&bytes, maxLength: bytes.count)
        #expect(bytes.prefix(max(0, count)).elementsEqual("of a file".utf8))
    }

    @Test func aFileThatIsMissingIsAnError() {
        let request = Request(Self.url, method: .post, body: .file("/missing/file"))
        #expect { try URLRequest(request) } throws: { ($0 as? TrellisError)?.kind == .file }
    }

    @Test(arguments: [true, false])
    func aBodyThatIsMadeWhileItIsSentIsRefused(_ isForm: Bool) {
        var form = MultipartFormData()
        form.append(fileAt: "/etc/passwd", withName: "a")
        let stream = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let request = Request(Self.url, method: .post, body: isForm ? .multipart(form) : stream)
        #expect { try URLRequest(request) } throws: { ($0 as? TrellisError)?.kind == .invalidRequest }
    }

    @Test func aFieldWithAnInvalidNameIsAnError() {
        let request = Request(Self.url).withHeader("X Key", "1")
        #expect { try URLRequest(request) } throws: { ($0 as? TrellisError)?.kind == .invalidRequest }
    }

    // MARK: Time

    @Test(
        arguments: [
            (.seconds(5), 5), (.milliseconds(250), 1), (.milliseconds(1500), 2), (.zero, 1), (nil, 604_800),
        ] as [(Duration?, Double)])
    func silenceIsTheInterval(_ idle: Duration?, _ interval: Double) throws {
        let request = Request(Self.url).withTimeouts(Timeouts(idle: idle))
        #expect(try URLRequest(request).timeoutInterval == interval)
    }

    @Test func thereAndBackAgainIsTheSame() throws {
        let request = Request(
            "http://localhost/ä", method: .put, headers: [.accept("a/b"), .contentType("c/d")],
            body: .data(Data([0, 255]))
        ).withTimeouts(Timeouts(connect: .seconds(7), responseHead: .seconds(7), idle: .seconds(7)))
        let result = try URLRequest(try URLRequest(request).asRequest())
        #expect(result == (try URLRequest(request)))
        #expect(result.httpBody == Data([0, 255]))
        #expect(result.timeoutInterval == 7)
        #expect(result.allHTTPHeaderFields == ["Accept": "a/b", "Content-Type": "c/d"])
    }
}
