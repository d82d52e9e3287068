import Testing

@testable import TrellisCore

/// The last request of a call, of those that were noted one after the other.
struct LastRequestTests {
    private static func made(_ path: String) -> MadeRequest { MadeRequest(Request("http://a.example/\(path)")) }

    @Test func theRequestThatWasNotedLastCounts() {
        let (first, sent, redirected) = (Self.made("first"), Self.made("sent"), Self.made("redirected"))
        let last = LastRequest(first)
        #expect(last.value === first)
        for request in [sent, sent, redirected, sent, first] {
            last.note(request)
            #expect(last.value === request)
        }
    }

    @Test func attemptsBesideOthersKeepTheirOwn() {
        let (first, slow, fast) = (Self.made("first"), Self.made("slow"), Self.made("fast"))
        let ofCall = LastRequest(first)
        let (one, other) = (LastRequest(besideOthersOf: ofCall), LastRequest(besideOthersOf: ofCall))
        one.note(slow)
        other.note(fast)
        #expect(one.value === slow)
        #expect(other.value === fast)
        #expect(ofCall.value === fast)
    }
}
