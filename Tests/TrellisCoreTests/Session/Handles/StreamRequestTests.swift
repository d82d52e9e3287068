import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTestTraits
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// The handle of a streamed request, and the facts about a call that handles report.
@Suite(.timeLimit(.minutes(3)))
struct StreamRequestTests {
    @Test func nothingIsSentBeforeTheResponseIsAskedFor() async throws {
        let scripted = Scripted()
        let request = scripted.session.streamRequest("http://localhost/")
        #expect(await request.state == .initialized)
        #expect(scripted.transport.attempts.isEmpty)
        let reading = Task { try await request.response.chunks.collect(upTo: 100) }
        let exchange = try await scripted.transport.nextAttempt()
        exchange.respond("hello")
        #expect(try await reading.value == Data("hello".utf8))
        #expect(await request.state == .finished)
        #expect(request.exchanges.count == 1)
        #expect(request.retryCount == 0)
    }

    @Test func aSuspendedStreamHasNoTraffic() async throws {
        let scripted = Scripted()
        let request = scripted.session.streamRequest("http://localhost/")
        request.resume()
        let exchange = try await scripted.transport.nextAttempt()
        request.suspend()
        await scripted.session.settle()
        #expect(await request.state == .suspended)
        #expect(await request.state.isWaiting)
        request.cancel()
        await #expect(throws: TrellisError.self) { try await request.response }
        #expect(await request.state == .cancelled)
        _ = exchange
    }

    @Test(.trellis(.mock { _ in MockResponse(status: 404) }))
    func aRefusedHeadIsAnError() async throws {
        let session = try #require(Session.current)
        let error = await #expect(throws: TrellisError.self) {
            try await session.streamRequest("http://a.example/").validate().response
        }
        #expect(error?.kind == .unacceptableStatus)
    }

    @Test(.trellis(.mock { _ in MockResponse(status: 503) }))
    func retriesCountAndEachExchangeIsShown() async throws {
        let session = try #require(Session.current)
        let retrier = Retrier { _, context in context.attempt < 3 ? .retry : .doNotRetry }
        let request = session.request(Request("http://a.example/").withRetrier(retrier))
        let response = try await request.response(of: .data)
        #expect(request.retryCount == 2)
        #expect(request.exchanges.map(\.attempt) == [1, 2, 3])
        #expect(request.exchanges.allSatisfy { $0.request.url == "http://a.example/" })
        #expect(request.callID == response.response.callID)
        #expect(response.metrics.attemptCount == 3)
    }

    @Test(arguments: [true, false])
    func theNumberOfTheCallJoinsResponseErrorAndEvents(_ fails: Bool) async throws {
        let session = Session(
            transport: MockTransport { _ in
                if fails { throw TransportFailure(.exchangeFailed(.connectionLost)) }
                return MockResponse()
            })
        let events = session.requestEvents
        let request = session.request("http://a.example/")
        let id: UInt64?
        do {
            id = try await request.response(of: .data).response.callID
        } catch let error as TrellisError {
            id = error.callID
        }
        #expect(id == request.callID)
        for await event in events {
            #expect(event.callID == id)
            break
        }
        let plain = Session(transport: MockTransport { _ in MockResponse() })
        let first = try await plain.data("http://a.example/").1.callID
        let second = try await plain.data("http://a.example/").1.callID
        #expect(first > 0 && second > first)
    }

    @Test func allRequestsCanBeSeenAndCancelled() async throws {
        let scripted = Scripted()
        let plain = Task { [session = scripted.session] in try await session.data("http://localhost/a?token=s3cret") }
        _ = try await scripted.transport.nextAttempt()
        let stepped = Task { [session = scripted.session] in
            try await session.data(Request("http://localhost/b").withAdapter(Adapter { request, _ in request }))
        }
        _ = try await scripted.transport.nextAttempt()
        let live = await scripted.session.liveRequests
        #expect(live.count == 2)
        #expect(!"\(live)".contains("s3cret"))
        await scripted.session.cancelAllRequests()
        for task in [plain, stepped] {
            let error = await #expect(throws: TrellisError.self) { try await task.value }
            #expect(error?.reason == .cancelled(.explicitly))
        }
        #expect(await scripted.session.liveRequests.isEmpty)
        let later = Task { [session = scripted.session] in try await session.data("http://localhost/c").1.status.code }
        let exchange = try await scripted.transport.nextAttempt()
        exchange.respond()
        #expect(try await later.value == 200)
    }

    @Test func cancellingARedirectThatIsStillReceivedEndsTheCall() async throws {
        let scripted = Scripted()
        let task = Task { [session = scripted.session] in try await session.data("http://localhost/a") }
        let exchange = try await scripted.transport.nextAttempt()
        exchange.connect()
        exchange.receiveHead(status: 302)
        await scripted.session.settle()
        await scripted.session.cancelAllRequests()
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.reason == .cancelled(.explicitly))
        #expect(scripted.transport.attempts.count == 1)
    }

    /// The head of a redirect has been delivered, so that a call follows it and takes the error.
    @Test func cancellingAStreamsRedirectEndsTheCallThatFollowsIt() async throws {
        let scripted = Scripted()
        let task = Task { [session = scripted.session] in try await session.stream("http://localhost/a").response.status
        }
        let exchange = try await scripted.transport.nextAttempt()
        exchange.connect()
        let session = scripted.session
        await withContinuation { continuation in
            // One job, so that the call has not followed the redirect yet.
            session.actor.submit { actor in
                exchange.receiveHead(status: 302, headers: [.location: "/next"])
                actor.calls.cancelCallsWithoutActor(TrellisError(.cancelled(.explicitly)))
                actor.cancelAll(TrellisError(.cancelled(.explicitly)))
                continuation.resume()
            }
        }
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.reason == .cancelled(.explicitly))
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test(.trellis(.mock { _ in MockResponse() }))
    func whatAVerbIsGivenIsAddedToTheRequest() async throws {
        let session = try #require(Session.current)
        var request = Request("http://a.example/", headers: [.accept: "a/b", .userAgent: "old"])
        request.timeouts = Timeouts(idle: .seconds(3))
        _ = try await session.data(
            request, headers: [.userAgent: "new"], timeouts: Timeouts(total: .seconds(9)),
            interceptor: Interceptor(adapters: [
                Adapter { request, _ in request.withHeader(.init(name: .range, value: "bytes=0-1")) }
            ]))
        let sent = try #require(MockTransport.current?.requests.first).request
        #expect(sent.headers[.userAgent] == "new")
        #expect(sent.headers[.accept] == "a/b")
        #expect(sent.headers[.range] == "bytes=0-1")
        #expect(sent.timeouts == Timeouts(idle: .seconds(3), total: .seconds(9)))
    }

    @Test(.trellis(.noNetwork))
    func handlesPrintThemselves() throws {
        let session = try #require(Session.current)
        let request = session.request("http://ada:s3cret@a.example/?token=s3cret")
        #expect("\(request)".hasPrefix("GET http://"))
        #expect("\(request)".hasSuffix("(call \(request.callID ?? 0))"))
        #expect(!"\(request)".contains("s3cret"))
    }

    @Test func withoutATransportASessionIsOnLibcurl() {
        let session = Session(configuration: SessionConfiguration(), transport: nil)
        #expect(session.engines.first.site.transport is LibcurlTransport)
    }
}

/// A stream's handle, once its head has come.
@Suite(.timeLimit(.minutes(3)))
struct StreamRequestBodyTests {
    @Test func aResponseThatComesAtOnceIsWhole() async throws {
        let transport = EarlyTransport { _, _, events in
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            [UInt8]("hello".utf8).withBytes { events.transportDidReceiveBody($0) }
            events.transportDidEnd(TransportEnd())
        }
        let session = Session(transport: transport)
        for _ in 0..<50 {
            let response = try await session.streamRequest("http://a.example/").response
            #expect(try await response.chunks.collect(upTo: 100) == Data("hello".utf8))
        }
    }

    @Test func theBodyIsSuspendedMeasuredAndCancelled() async throws {
        let scripted = Scripted()
        let request = scripted.session.streamRequest("http://localhost/")
        let progress = request.downloadProgress
        let reading = Task { try await request.response }
        let exchange = try await scripted.transport.nextAttempt()
        exchange.connect()
        exchange.receiveHead(status: 200)
        let response = try await reading.value
        #expect(await request.state == .finished)
        request.suspend()
        try await exchange.wait(for: .suspend(true))
        request.resume()
        try await exchange.wait(for: .suspend(false))
        exchange.receiveBody("12345")
        let counted = Task {
            var last = Int64(0)
            for await value in progress { last = value.completedBytes }
            return last
        }
        var reader = response.chunks.makeAsyncIterator()
        #expect(try await reader.next() == Data("12345".utf8))
        request.cancel()
        let error = await #expect(throws: TrellisError.self) { try await reader.next() }
        #expect(error?.reason == .cancelled(.explicitly))
        #expect(await counted.value == 5)
    }

    /// The exchange under way at the deadline is shown by the handle as soon as its reader has the error.
    @Test func theExchangeThatTheDeadlineEndsIsShown() async throws {
        let scripted = Scripted()
        var asked = Request("http://localhost/").withRetrier(Retrier { _, _ in .retry })
        asked.timeouts = Timeouts(idle: nil, total: .seconds(5))
        let request = scripted.session.request(asked)
        let reading = Task { try await request.data() }
        for _ in 0..<2 {
            let exchange = try await scripted.transport.nextAttempt()
            exchange.connect()
            if scripted.transport.attempts.count < 2 {
                exchange.receiveHead(status: 503)
                exchange.end()
            }
        }
        await scripted.advance(by: .seconds(5))
        await #expect(throws: TrellisError.self) { try await reading.value }
        #expect(request.exchanges.map(\.attempt) == [1, 2])
        #expect(request.retryCount == 1)
        #expect(request.exchanges.allSatisfy { $0.metrics.callID == request.callID })
    }

    /// A handle that was suspended has its call's deadline, and its error says what the request was doing.
    @Test func theDeadlineOfAHandleThatWasHeldUpNamesTheConnections() async throws {
        let scripted = Scripted.narrow
        let (blocker, _) = try await scripted.block()
        var asked = Request("http://localhost/")
        asked.timeouts = Timeouts(idle: nil, total: .seconds(10))
        let request = scripted.session.request(asked)
        request.suspend()
        // The call begins at once, so that its deadline counts from here.
        let reading = Task.immediate { try await request.data() }
        await scripted.session.settle()
        await scripted.advance(by: .seconds(5))
        request.resume()
        await scripted.waitUntilLive(count: 2)
        await scripted.advance(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await reading.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.detail?.contains("in use") == true)
        blocker.cancel()
    }

    @Test(.trellis(.mock { _ in MockResponse() })) @MainActor
    func stepsOfACallFromTheMainActorRunOnThePool() async throws {
        let (session, isMain) = (try #require(Session.current), Locked<Bool?>(nil))
        _ = try await session.data(
            Request("http://a.example/").withAdapter(
                Adapter { request, _ in
                    isMain.withLock { $0 = Thread.isMainThread }
                    return request
                }))
        #expect(isMain.withLock { $0 } == false)
    }
}
