import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisUpgrades

extension AlternativeServiceStore {
    /// Takes the field of a response to a request for a URL.
    func receive(_ field: String, from url: String, age: Int? = nil) throws {
        var headers = HTTPFields()
        headers["Alt-Svc"] = field
        if let age { headers[.age] = "\(age)" }
        receive(ResponseHead(status: .ok, headers: headers), from: try WireURL(parsing: url))
    }

    /// Returns the service to which a request for a URL is sent, as text.
    func used(_ url: String) throws -> String? { service(for: try WireURL(parsing: url)).map { "\($0)" } }

    /// Begins a request of `https://a.example` to a service.
    func begin(_ service: AlternativeService) throws -> Bool {
        try started(service) != nil
    }

    /// Begins a request of `https://a.example` to a service. Returns the number with which it ends.
    func started(_ service: AlternativeService) throws -> Int? {
        begin(service, of: try WireURL(parsing: "https://a.example/"))
    }

    /// Ends a request of `https://a.example` to a service.
    @discardableResult
    func end(
        _ service: AlternativeService, _ outcome: AlternativeOutcome, generation: Int = 0
    ) throws -> Double? {
        end(service, of: try WireURL(parsing: "https://a.example/"), outcome, generation: generation)
    }
}

/// The services that a store knows, and those that it uses.
struct AlternativeServiceStoreTests {
    private let clock = WallClock()
    private let url = "https://a.example/x"

    private func store(hasHTTP3: Bool = true) -> AlternativeServiceStore {
        AlternativeServiceStore(hasHTTP3: hasHTTP3) { [clock] in clock.now }
    }

    @Test func theFirstServiceWithHTTP3IsUsed() throws {
        let store = store()
        #expect(try store.used(url) == nil)
        try store.receive("h2=\":8443\", h3=\"Alt.example:1\", h3=\":443\"", from: url)
        #expect(try store.used("https://A.EXAMPLE:443/") == "h3 at alt.example:1")
        for other in ["https://a.example:444/", "http://a.example/", "http://a.example:443/", "https://b.a.example/"] {
            #expect(try store.used(other) == nil)
        }
        try store.receive("h3=\":443\"", from: url)
        #expect(try store.used(url) == "h3 at a.example:443")
        try store.receive("h3=\":443\"", from: "https://[2001:db8::1]:8443/")
        #expect(try store.used("https://[2001:db8::1]:8443/") == "h3 at [2001:db8::1]:443")
    }

    @Test func nothingIsUsedWithoutHTTP3() async throws {
        let store = store(hasHTTP3: false)
        try store.receive("h3=\":443\"", from: url)
        #expect(try store.used(url) == nil)
        #expect(await store.services(for: url).map(\.description) == ["h3 at a.example:443"])
    }

    @Test func aLaterFieldReplacesAnEarlierOne() throws {
        let store = store()
        try store.receive("h3=\":1\"", from: url)
        try store.receive("h3=\":2\"", from: url)
        #expect(try store.used(url) == "h3 at a.example:2")
        // A malformed field is none.
        try store.receive("h3", from: url)
        #expect(try store.used(url) == "h3 at a.example:2")
        try store.receive("h9=\":2\"", from: url)
        #expect(try store.used(url) == nil)
        try store.receive("h3=\":3\"", from: url)
        try store.receive("clear", from: url)
        #expect(try store.used(url) == nil)
    }

    @Test func aServiceEnds() throws {
        let store = store()
        try store.receive("h3=\":1\"; ma=10, h3=\":2\"; ma=20", from: url, age: 1)
        #expect(try store.used(url) == "h3 at a.example:1")
        clock.move(by: 9)
        #expect(try store.used(url) == "h3 at a.example:2")
        clock.move(by: 10)
        #expect(try store.used(url) == nil)
        try store.receive("h3=\":1\"; ma=10", from: url, age: 10)
        #expect(try store.used(url) == nil)
        try store.receive("h3=\":1\"; ma=0", from: url)
        #expect(try store.used(url) == nil)
    }

    @Test func aChangeOfTheNetwork() async throws {
        let store = store()
        try store.receive("h3=\":1\", h3=\":2\"; persist=1", from: url)
        try store.receive("h3=\":1\"", from: "https://b.example/")
        let service = AlternativeService(protocolID: "h3", host: "a.example", port: 2)
        try store.end(service, .failed)
        await store.networkDidChange()
        #expect(try store.used(url) == "h3 at a.example:2")
        #expect(try store.used("https://b.example/") == nil)
    }

    /// The connection of a request may have been lost with the network in which it was made.
    @Test func aFailureInAnotherNetworkDoesNotCount() async throws {
        let store = store()
        let service = AlternativeService(protocolID: "h3", host: "a.example", port: 443)
        try store.receive("h3=\":443\"; persist=1", from: url)
        let early = try #require(try store.started(service))
        await store.networkDidChange()
        #expect(try store.end(service, .failed, generation: early) == nil)
        #expect(try store.used(url) == "h3 at a.example:443")
        // The end of the earlier request does not end a later one either.
        let late = try #require(try store.started(service))
        try store.end(service, .unknown, generation: early)
        #expect(try !store.begin(service))
        #expect(try store.end(service, .failed, generation: late) == 300)
        #expect(try store.used(url) == nil)
    }

    @Test func aServiceThatFailsIsNotUsedForAWhile() throws {
        let store = store()
        let service = AlternativeService(protocolID: "h3", host: "a.example", port: 443)
        try store.receive("h3=\":443\"; ma=99999999", from: url)
        var pauses: [Double] = []
        for _ in 0..<12 {
            #expect(try store.begin(service))
            let pause = try #require(try store.end(service, .failed))
            #expect(try store.used(url) == nil)
            #expect(try !store.begin(service))
            clock.move(by: pause - 1)
            #expect(try store.used(url) == nil)
            clock.move(by: 1)
            pauses.append(pause)
        }
        #expect(pauses[..<4] == [300, 600, 1200, 2400])
        #expect(pauses[10...] == [172_800, 172_800])
        try store.end(service, .worked)
        #expect(try store.begin(service))
        #expect(try store.end(service, .failed) == 300)
    }

    /// Requests that fail together are one failure.
    @Test func failuresAtOnceAreOneFailure() throws {
        let store = store()
        let service = AlternativeService(protocolID: "h3", host: "a.example", port: 443)
        try store.end(service, .worked)
        #expect(try store.begin(service) && store.begin(service))
        #expect(try store.end(service, .failed) == 300)
        clock.move(by: 100)
        #expect(try store.end(service, .failed) == 200)
    }

    @Test func oneRequestAtATimeTestsAService() throws {
        let store = store()
        try store.receive("h3=\":443\"", from: url)
        let service = try #require(store.service(for: WireURL(parsing: url)))
        #expect(try store.begin(service))
        #expect(try !store.begin(service))
        #expect(try store.used(url) == nil)
        try store.end(service, .unknown)
        #expect(try store.begin(service))
        try store.end(service, .worked)
        #expect(try store.begin(service) && store.begin(service))
    }

    /// A service that does not work for one origin still works for another one.
    @Test func theExperienceIsThatOfAnOrigin() throws {
        let store = store(), other = "https://b.example/"
        try store.receive("h3=\":443\"", from: url)
        try store.receive("h3=\"a.example:443\"", from: other)
        let service = try #require(store.service(for: WireURL(parsing: other)))
        #expect(store.end(service, of: try WireURL(parsing: other), .failed, generation: 0) == 300)
        #expect(try store.used(other) == nil)
        #expect(try store.used(url) == "h3 at a.example:443")
    }

    @Test func theNumberOfRememberedServicesIsLimited() {
        var health = AlternativeHealth()
        var uses: [AlternativeHealth.Use] = []
        for port in 1...3 * AlternativeHealth.limit {
            let service = AlternativeService(protocolID: "h3", host: "a.example", port: port)
            let use = AlternativeHealth.Use(origin: "a.example:443", service: service)
            uses.append(use)
            let generation = health.begin(use, at: clock.now)
            if port.isMultiple(of: 2) { health.end(use, .failed, generation: generation, at: clock.now) }
        }
        // A service that is forgotten may be used.
        #expect(uses.count { !health.mayUse($0, at: clock.now) } <= AlternativeHealth.limit)
    }

    /// The service that is not used for longest is remembered when there are too many.
    @Test func manyServicesDoNotResetTheOthers() {
        var health = AlternativeHealth()
        func use(_ port: Int) -> AlternativeHealth.Use {
            let service = AlternativeService(protocolID: "h3", host: "a.example", port: port)
            return AlternativeHealth.Use(origin: "a.example:443", service: service)
        }
        func fail(_ port: Int, at date: Date) {
            let generation = health.begin(use(port), at: date)
            health.end(use(port), .failed, generation: generation, at: date)
        }
        let start = clock.now
        fail(0, at: start)
        let later = start.addingTimeInterval(AlternativeHealth.firstBreak)
        fail(0, at: later)
        for port in 1...2 * AlternativeHealth.limit { fail(port, at: later) }
        #expect(!health.mayUse(use(0), at: later))
        #expect(!health.mayUse(use(2 * AlternativeHealth.limit), at: later))
    }

    /// Servers that take back what is not known do not fill the memory.
    @Test func removalsOfUnknownRecordsAreBounded() async throws {
        let folder = try TemporaryFolder()
        let store = RecordStore<AlternativeServiceFormat>(path: folder.path("alt-svc.txt")) { [clock] in clock.now }
        await store.load()
        for number in 0..<3 * AlternativeServiceFormat.limit { store.remove("https://\(number).example:443") }
        #expect(store.changeCount == AlternativeServiceFormat.limit)
    }

    @Test func servicesAreKeptInAFile() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("alt-svc.txt")
        let store = AlternativeServiceStore(file: path) { [clock] in clock.now }
        await store.load()
        try store.receive("h3=\":443\"; ma=60, h2=\"b.example:1\"; persist=1", from: url)
        try await store.flush()
        let text = String(decoding: try #require(folder.content("alt-svc.txt")), as: UTF8.self)
        #expect(text.hasPrefix("# Your alt-svc cache. https://curl.se/docs/alt-svc.html\n"))
        #expect(text.contains("\nh1 a.example 443 h3 a.example 443 \"20231114 22:14:20\" 0 0\n"))
        let again = AlternativeServiceStore(file: path) { [clock] in clock.now }
        #expect(await again.services(for: url) == store.services(for: url))
        try again.receive("clear", from: url)
        try await again.flush()
        #expect(
            String(decoding: try #require(folder.content("alt-svc.txt")), as: UTF8.self).split(separator: "\n").count
                == 2)
        try folder.write(Data("a.example \"20300101 00:00:00\"\n".utf8), to: "hsts.txt")
        let other = AlternativeServiceStore(file: folder.path("hsts.txt"))
        try other.receive("h3=\":443\"", from: url)
        await #expect(throws: FileFailure.self) { try await other.flush() }
    }

    /// curl understands the file, and the store understands curl's.
    @Test(.enabled(if: Shell.hasCURL)) func curlUsesTheSameFile() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("alt-svc.txt")
        let store = AlternativeServiceStore(file: path)
        try store.receive("h3=\":443\"; persist=1, h2=\"[::1]:8443\", http%2F1.1=\"b.example:1\"", from: url)
        try await store.flush()
        // The port of the own machine is closed: nothing is sent. curl replaces the file at its end.
        let command = "curl -s --alt-svc '\(path)' --connect-to ::127.0.0.1:9 https://c.example/"
        _ = await Shell.output(of: "env -u LD_LIBRARY_PATH \(command)")
        let text = String(decoding: try #require(folder.content("alt-svc.txt")), as: UTF8.self)
        #expect(text.contains("generated by libcurl"))
        let again = await AlternativeServiceStore(file: path).services(for: url)
        #expect(again.count == 3)
        #expect(again == (await store.services(for: url)))
    }
}
