import Foundation
import Testing
import Trellis
import TrellisTesting

/// A response that arrives before the end of the request's body ends the upload.
@Suite(.timeLimit(.minutes(3)))
struct EarlyAnswerTests {
    /// A kind of source of the request's body.
    enum Source: String, CaseIterable { case endless, stalled }

    /// Returns a body of chunks without an end, or of one chunk after which nothing follows.
    private func body(_ source: Source) -> RequestBody {
        switch source {
        case .endless: .stream(BodySource.endless())
        case .stalled: .stream(BodySource.stalled(after: "start"))
        }
    }

    @Test(arguments: Source.allCases, Ending.allCases.dropLast())
    func refusalEndsTheUpload(_ source: Source, _ ending: Ending) async throws {
        let text = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"
        for scheme in Misbehaviour.Scheme.allCases {
            let server = try Misbehaviour(over: scheme) { connection, _ in
                try connection.write(text)
                ending.apply(to: connection)
                try connection.readToEnd()
            }
            let (data, response) = try await server.session.upload(body(source), to: server.request)
            #expect(response.status.code == 413)
            #expect(String(decoding: data, as: UTF8.self) == "big")
            try await server.isHealthyAndLeavesNothing()
        }
    }

    @Test(arguments: Source.allCases, Misbehaviour.Scheme.allCases)
    func successEndsTheUpload(_ source: Source, _ scheme: Misbehaviour.Scheme) async throws {
        let server = try Misbehaviour(over: scheme) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nenough")
            try connection.readToEnd()
        }
        let (data, response) = try await server.session.upload(body(source), to: server.request)
        #expect(response.status == .ok)
        #expect(String(decoding: data, as: UTF8.self) == "enough")
        try await server.isHealthyAndLeavesNothing()
    }

    /// A response that is complete by its length or its status ends an upload from memory that the server does not read.
    @Test(arguments: [200, 204, 301, 304, 413], Misbehaviour.Scheme.allCases)
    func aWholeResponseEndsAnUploadFromMemory(_ status: Int, _ scheme: Misbehaviour.Scheme) async throws {
        let isAnswered = LoopbackServer.Gate()
        let server = try Misbehaviour(over: scheme) { connection, _ in
            _ = try connection.read(upTo: 1)
            let hasBody = ![204, 304].contains(status)
            try connection.write("HTTP/1.1 \(status) Early\r\n" + (hasBody ? "Content-Length: 3\r\n\r\nbig" : "\r\n"))
            // The body does not fit into the buffers of the sockets.
            try connection.wait(for: isAnswered)
        }
        let body = RequestBody.data(Data(count: 64 << 20))
        let (data, response) = try await server.session.upload(body, to: server.request)
        isAnswered.open()
        #expect(response.status.code == status)
        #expect(String(decoding: data, as: UTF8.self) == ([204, 304].contains(status) ? "" : "big"))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: Misbehaviour.Scheme.allCases)
    func resetDuringTheUploadIsAnError(_ scheme: Misbehaviour.Scheme) async throws {
        let server = try Misbehaviour(over: scheme) { connection, _ in
            _ = try connection.read(exactly: 100_000)
            connection.reset()
        }
        await expectFailure([.send, .receive]) { try await server.session.upload(body(.endless), to: server.request) }
        try await server.isHealthyAndLeavesNothing()
    }
}
