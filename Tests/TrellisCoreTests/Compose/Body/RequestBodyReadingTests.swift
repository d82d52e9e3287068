import CurlEngine
import FoundationEssentials
import TestSupport
import Testing

@testable import TrellisCore

/// The bytes of a body before it is sent.
struct RequestBodyReadingTests {
    private static func again(_ texts: String..., length: Int64? = nil) -> RequestBody {
        .stream(length: length) {
            AsyncStream { source in
                for text in texts { source.yield(Data(text.utf8)) }
                source.finish()
            }
        }
    }

    @Test func bytesInMemoryAreAtHand() async throws {
        #expect(RequestBody.string("abc").data == Data("abc".utf8))
        #expect(RequestBody.file("/etc/hostname").data == nil)
        #expect(Self.again("abc").data == nil)
        #expect(try await RequestBody.string("abc").collect(upTo: 3) == Data("abc".utf8))
    }

    @Test func everySourceThatCanBeReadAgainIsCollected() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Data("from a disk".utf8), to: "body")
        let path = folder.path("body")
        #expect(try await RequestBody.file(path).collect(upTo: 11) == Data("from a disk".utf8))
        var form = MultipartFormData(boundary: "b")
        form.append(fileAt: path, withName: "f")
        let encoded = try await form.encode()
        #expect(try await RequestBody.multipart(form).collect(upTo: 1000) == encoded)
        #expect(try await Self.again("ab", "cd").collect(upTo: 4) == Data("abcd".utf8))
    }

    @Test(arguments: [3, 0])
    func aLargerBodyIsAnError(_ limit: Int) async throws {
        for body in [RequestBody.string("abcd"), Self.again("ab", "cd"), Self.again("abcd", length: 4)] {
            let error = await #expect(throws: TrellisError.self) { try await body.collect(upTo: limit) }
            #expect(error?.kind == .invalidRequest)
        }
    }

    /// Reading it would leave nothing to send.
    @Test func aSequenceThatIsIteratedOnceIsNotRead() async throws {
        let read = Locked(false)
        let once = AsyncStream<Data> {
            read.withLock { $0 = true }
            return nil
        }
        let error = await #expect(throws: TrellisError.self) { try await RequestBody.stream(once).collect(upTo: 10) }
        #expect(error?.kind == .invalidRequest)
        #expect(!read.withLock { $0 })
    }

    @Test func theErrorOfASourceIsThatOfItsReader() async throws {
        struct Broken: Error {}
        let body = RequestBody.stream { AsyncThrowingStream<Data, any Error> { throw Broken() } }
        let error = await #expect(throws: TrellisError.self) { try await body.collect(upTo: 10) }
        #expect(error?.underlying is Broken)
        let missing = await #expect(throws: TrellisError.self) {
            try await RequestBody.file("/nothing/here").collect(upTo: 10)
        }
        #expect(missing?.kind == .file)
    }

    @Test func pathAndQueryAreThoseOfTheWire() {
        let request = Request("http://a.example/caf\u{E9}/../b c?q=\u{E9}#end")
        #expect(request.path == "/b%20c")
        #expect(request.query == "q=%C3%A9")
        #expect(Request("http://a.example").path == "/")
        #expect(Request("http://a.example").query == nil)
        #expect(Request("http://a.example/?").query == "")
        #expect(Request("users/7?page=2").path == "users/7")
        #expect(Request("users/7?page=2").query == "page=2")
        #expect(Request("http://a.example/a/../b").setting(\.sendsURLUnchanged, to: true).path == "/a/../b")
        let root = Request("http://a.example").setting(\.sendsURLUnchanged, to: true)
        #expect(root.path == "/" && root.setting(\.method, to: .options).path == "*")
    }
}
