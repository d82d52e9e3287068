import Testing

@testable import TrellisCore

struct ByteLimitTests {
    @Test(
        arguments: [
            (.bytes(10), 9, false), (.bytes(10), 10, false), (.bytes(10), 11, true), (.bytes(0), 0, false),
            (.bytes(0), 1, true), (.unlimited, .max, false),
        ] as [(ByteLimit, Int, Bool)])
    func theLimitItselfIsAllowed(_ limit: ByteLimit, _ count: Int, _ isExceeded: Bool) {
        #expect(limit.isExceeded(by: count) == isExceeded)
    }
}
