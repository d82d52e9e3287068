import FoundationEssentials
import TrellisCore

extension TransportConformance {
    private struct SourceFailed: Error {}

    /// The cases about exchanges that do not end properly, by either side.
    static var endCases: [Case] {
        [
            Case(name: "reports a connection that broke before the head as a failure to receive") { _ in
                [.breakOff]
            } check: { host in
                // The method is not idempotent, so that the request is not retried.
                try await expect(.receive) { _ = try await host.session.upload(Data("x".utf8), to: host.url("/")) }
            },
            Case(name: "reports a body that was cut short, after what came of it") { _ in
                [.head(200, [:]), .text("part"), .breakOff]
            } check: { host in
                try await expect(.truncatedBody) { _ = try await host.session.data(host.url("/")) }
                let response = try await host.session.stream(host.url("/"))
                var got = Data()
                try await expect(.truncatedBody) { for try await chunk in response.chunks { got.append(chunk) } }
                try expect("what came", got, equals: Data("part".utf8))
            },
            Case(name: "goes on after a failure") { request in
                request.target == "/bad" ? [.head(200, [:]), .text("x"), .breakOff] : [.head(204, [:]), .end]
            } check: { host in
                try await expect(.truncatedBody) { _ = try await host.session.data(host.url("/bad")) }
                try expect("status", try await host.session.data(host.url("/good")).1.status.code, equals: 204)
            },
            cancelledWhileWaiting(LoopbackServer.Gate()),
            Case(name: "ends an exchange whose task is cancelled while it reads the body") { _ in
                [.head(200, [:]), .body(Data(repeating: 7, count: 1000)), .hold]
            } check: { host in
                let begun = LoopbackServer.Gate()
                let task = Task {
                    defer { begun.open() }
                    let response = try await host.session.stream(host.url("/"))
                    begun.open()
                    for try await _ in response.chunks {}
                }
                try await begun.opened()
                task.cancel()
                try await expectCancellation(task)
                try await host.waitUntilReleased(count: 1)
            },
            Case(name: "goes on after a reader that stops at the first byte") { request in
                request.target == "/next" ? [.head(204, [:]), .end] : [.head(200, [:]), .body(megabyte), .end]
            } check: { host in
                let byte = try await host.session.withResponse(to: host.url("/")) { response, body in
                    try expect("status", response.status.code, equals: 200)
                    var bytes = body.bytes.makeAsyncIterator()
                    return try await bytes.next()
                }
                try expect("first byte", byte, equals: UInt8(ascii: "A"))
                try expect("next status", try await host.session.data(host.url("/next")).1.status.code, equals: 204)
            },
            Case(name: "ends an exchange whose stream is dropped") { _ in
                [.head(200, [:]), .text("part"), .hold]
            } check: { host in
                for count in 1...3 {
                    for try await _ in try await host.session.stream(host.url("/")).chunks { break }
                    try await host.waitUntilReleased(count: count)
                }
            },
            Case(name: "ends an exchange whose body's source fails") { _ in
                [.head(200, [:]), .end]
            } check: { host in
                let chunks = AsyncThrowingStream<Data, any Error> { continuation in
                    continuation.yield(Data("part".utf8))
                    continuation.finish(throwing: SourceFailed())
                }
                try await expect(.other) { _ = try await host.session.upload(chunks, to: host.url("/")) }
            },
            Case(name: "ends what is in flight when the session is shut down") { _ in
                [.head(200, [:]), .text("part"), .hold]
            } check: { host in
                let response = try await host.session.stream(host.url("/"))
                await host.session.shutdown()
                try await expect(.cancelled) { for try await _ in response.chunks {} }
                try await host.waitUntilReleased(count: 1)
            },
        ]
    }

    private static let megabyte = Data(repeating: UInt8(ascii: "A"), count: 1_000_000)

    private static func cancelledWhileWaiting(_ gate: LoopbackServer.Gate) -> Case {
        Case(name: "ends an exchange whose task is cancelled while it waits") { _ in
            gate.open()
            return [.hold]
        } check: { host in
            let task = Task { _ = try await host.session.data(host.url("/")) }
            try await gate.opened()
            task.cancel()
            try await expectCancellation(task)
            try await host.waitUntilReleased(count: 1)
        }
    }

    /// The cases about flow control, by the reader and by the handle.
    static var flowCases: [Case] {
        let chunk = Data(repeating: 7, count: 64 << 10)
        return [
            Case(name: "keeps every byte of a body that its reader holds up") { _ in
                [.head(200, [:])] + Array(repeating: .body(chunk), count: 128) + [.end]
            } check: { host in
                let response = try await host.session.stream(host.url("/"))
                await host.session.settle()
                var count = 0
                for try await piece in response.chunks {
                    try expect("bytes", piece.allSatisfy { $0 == 7 }, equals: true)
                    count += piece.count
                    await host.session.settle()
                }
                try expect("bytes", count, equals: 128 * chunk.count)
            },
            Case(name: "hands on a megabyte to a reader of single bytes") { _ in
                [.head(200, [:]), .body(megabyte), .end]
            } check: { host in
                var count = 0
                for try await byte in try await host.session.stream(host.url("/")).bytes {
                    guard byte == UInt8(ascii: "A") else { throw Failure(description: "byte \(count) is \(byte)") }
                    count += 1
                }
                try expect("bytes", count, equals: 1_000_000)
            },
            Case(name: "goes on where it was when it is resumed") { _ in
                [.head(200, [:])] + Array(repeating: .body(chunk), count: 64) + [.end]
            } check: { host in
                let handle = host.session.request(host.url("/"))
                handle.resume()
                for _ in 0..<20 {
                    handle.suspend()
                    await host.session.settle()
                    handle.resume()
                    await host.session.settle()
                }
                try expect("bytes", try await handle.data().count, equals: 64 * chunk.count)
            },
        ]
    }
}
