import Testing
@_spi(Transport) import Trellis
@_spi(Transport) import TrellisTesting

@testable import CurlEngine

/// The engine's HTTP/2 conforms to the rules that hold for every transport, and sends the same frames with every nghttp2.
@Suite(.timeLimit(.minutes(3)), .enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct HTTP2ConformanceTests {
    /// The cases whose servers send bytes of HTTP/1.1.
    static let ofHTTP1: Set = [
        "refuses a response that is not HTTP", "refuses a status line whose protocol is in another case",
        "accepts a status line without a reason phrase", "expects no body after a 204 with a length",
        "expects no body after a 304 with a length", "reports a body that is shorter than its length",
        "reads a body without a length to the end of the connection", "refuses a list of different lengths",
        "refuses two fields with different lengths",
    ]

    /// The names of the cases that the host can play.
    static let names = TransportConformance.cases
        .filter { !ofHTTP1.contains($0.name) && HTTP2ConformanceHost.features.isSuperset(of: $0.features) }.map(\.name)

    @Test(arguments: names, [false, true])
    func conforms(_ name: String, isSecure: Bool) async throws {
        // The gates of a case open once, so that each run needs its own.
        let testCase = try #require(TransportConformance.cases.first { $0.name == name })
        let host = try HTTP2ConformanceHost(isSecure: isSecure)
        try await testCase.run(on: host)
        let frames = try await host.frames()
        guard RecordedFrames.ofChance[name] == nil else { return }
        #expect(frames == RecordedFrames.all[name])
    }

    @Test func everyCaseOfHTTP1IsKnown() {
        let all = Set(TransportConformance.cases.map(\.name))
        #expect(Self.ofHTTP1.isSubset(of: all))
        let recorded = Set(RecordedFrames.all.keys), ofChance = Set(RecordedFrames.ofChance.keys)
        #expect(recorded.isDisjoint(with: ofChance))
        #expect(recorded.union(ofChance) == Set(Self.names))
        #expect(all.subtracting(Self.names) == Self.ofHTTP1)
    }
}
