import CurlEngine
import Testing

struct SecureRandomTests {
    @Test func theNumbersAreDifferentFromBatchToBatch() {
        var random = SecureRandom()
        let numbers = (0..<1000).map { _ in random.next() }
        #expect(Set(numbers).count > 990)
        // Every bit is set in about half of the numbers.
        for bit in 0..<32 as Range<UInt32> {
            #expect((350...650).contains(numbers.count { $0 >> bit & 1 == 1 }))
        }
    }

    @Test(arguments: [0, 1, 4, 16, 257])
    func thereAreAsManyBytesAsWanted(_ count: Int) {
        var random = SecureRandom()
        #expect(random.bytes(count).count == count)
    }
}
